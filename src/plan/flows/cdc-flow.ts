import type { Place } from '../../base/place.ts';
import { isOrderable } from '../../data/compare.ts';
import { formatType, sameType } from '../../data/type-text.ts';
import type { Column } from '../../data/types.ts';
import type { Expression as BoundExpression } from '../../expr/expression.ts';
import type { AutoCdc, ColumnSelection, Expression, FlowBody } from '../../sql/ast.ts';
import { asCondition } from '../bind/as-condition.ts';
import type { BindContext } from '../bind/bind-context.ts';
import { bindRelation } from '../bind/bind-relation.ts';
import { bindRow } from '../bind/bind-row.ts';
import { nameHint } from '../bind/name-hint.ts';
import { nameKey, nameText } from '../bind/names.ts';
import type { FlowDeclaration, TableDataset } from '../catalog.ts';
import { chanceUpstream } from '../explain/chance.ts';
import { warnOfRowChance } from '../explain/row-chance.ts';
import { planFault } from '../faults.ts';
import type { ProjectedColumn } from '../pipeline-plan.ts';
import { type BoundRelation, withStep } from '../relation.ts';
import { matchTarget, type TargetColumn, unitedColumns } from '../target-columns.ts';
import { atEnd } from '../upstream.ts';
import { warnOfEnvelope } from './cdc-hint.ts';
import { checkAutoCdc } from './flow-rules.ts';
import { columnNode } from './move-columns.ts';
import { checkOnceSources } from './once-flow.ts';
import { checkRowExpression } from './row-rules.ts';

/** An AUTO CDC flow whose rules were checked; what it gives is whole only if no fault was found. */
export type BoundCdcFlow = {
  readonly kind: 'auto_cdc';
  readonly declaration: FlowDeclaration;
  readonly table: TableDataset;
  readonly once: boolean;
  /** Those of the rows that the feed gives; with history the table has two more. */
  readonly columns: readonly TargetColumn[];
  /** Its branches end in rows of the target, and behind them sequence and conditions. */
  readonly relation: BoundRelation;
  /** Positions in `columns`. */
  readonly keys: readonly number[];
  /** Over the row that the branches end in; undefined when it has a fault. */
  readonly sequence: BoundExpression | undefined;
  readonly deleteWhen: BoundExpression | undefined;
  readonly truncateWhen: BoundExpression | undefined;
  /** Columns whose NULL leaves what was there. */
  readonly ignoreNull: readonly number[];
  /** Columns of which a change makes a new row of the history; undefined: SCD type 1. */
  readonly tracked: readonly number[] | undefined;
};

type CdcBody = Extract<FlowBody, { node: 'auto_cdc' }>;

export type CdcDeclaration = {
  readonly declaration: FlowDeclaration;
  readonly body: CdcBody;
  readonly context: BindContext;
};

/** A feed that could be read, with the columns that it brings into the table. */
type Feed = CdcDeclaration & { readonly source: BoundRelation; readonly given: BoundRelation };

/** The columns that SCD type 2 adds, in this order, behind all others. */
export const historyColumnNames = ['__START_AT', '__END_AT'] as const;

/**
 * Binds all AUTO CDC flows of one table. Invariant: they agree on what the table stores: its columns, keys, the type of
 * the sequence and the kind of history; so the changes of all of them can be merged as those of one feed.
 */
export function bindCdcFlows(
  table: TableDataset,
  flows: readonly CdcDeclaration[],
): readonly BoundCdcFlow[] {
  const feeds: Feed[] = [];
  for (const flow of flows) {
    const { cdc } = flow.body;
    const { faults } = flow.context;
    checkAutoCdc(cdc, faults);
    const source = bindRelation(cdc.source, flow.context);
    if (source === undefined) continue;
    if (cdc.once) checkOnceSources(source, flow.declaration.place, faults);
    feeds.push({ ...flow, source, given: { ...source, columns: selected(cdc, source, flow) } });
  }
  const [first] = feeds;
  if (first === undefined) return [];
  checkTable(table, first);
  const open = withoutHistory(table, first);
  const isOpen = open.columns === undefined && feeds.length > 1;
  const target = isOpen
    ? { ...open, columns: unitedColumns(feeds.map(({ given }) => given)) }
    : open;
  const bound = feeds.map((feed) => bindFeed(feed, target, table));
  for (const other of bound.slice(1)) checkAgreement(bound[0] ?? other, other, first.context);
  return bound;
}

/** Field order follows the source, whichever way the columns were chosen. */
function selected(cdc: AutoCdc, source: BoundRelation, { context }: CdcDeclaration) {
  const visible = source.columns.filter(({ hidden }) => !hidden);
  const { columns } = cdc;
  if (columns === undefined) return visible;
  const names = visible.flatMap(({ name }) => name ?? []);
  const chosen = new Set(namesOf(columns, names, 'columns of the source', context));
  return visible.filter(({ name }) => chosen.has(nameKey(name ?? '')) !== columns.except);
}

/** The names of a selection in lower case; one that does not exist is a fault. */
function namesOf(
  { columns }: ColumnSelection,
  known: readonly string[],
  noun: string,
  { faults }: BindContext,
): readonly string[] {
  return columns.flatMap((name) => {
    const text = nameText(name);
    if (known.some((one) => nameKey(one) === nameKey(text))) return [nameKey(text)];
    const message = `there is no column "${text}"`;
    faults.add(
      planFault('CDC_COLUMN_UNKNOWN', message, name.place, { hint: nameHint(text, known, noun) }),
    );
    return [];
  });
}

// ---------------------------------------------------------------- the table

function checkTable(table: TableDataset, { context, body }: Feed): void {
  const { faults } = context;
  const output = table.options.text('output');
  if (output?.value === 'rows') {
    const message = "a table of AUTO CDC has no output = 'rows'";
    const detail =
      'The record of a key holds its row, or its whole history, so that no reader sees half of it.';
    const hint = "Leave the option out, or write output = 'row_set', which says the same.";
    faults.add(planFault('OPTION_VALUE', message, output.place, { detail, hint }));
  }
  const { columns } = table;
  if (body.cdc.scdType !== 2 || columns === undefined || columns === 'broken') return;
  const missing = historyColumnNames.filter(
    (name) => !columns.some((column) => nameKey(column.name) === nameKey(name)),
  );
  if (missing.length === 0) return;
  faults.add(
    planFault(
      'CDC_HISTORY_COLUMNS',
      `streaming table "${table.name}" keeps a history and declares no ${missing.join(' and ')}`,
      table.place,
      {
        detail: 'SCD TYPE 2 stores from which sequence to which a row held.',
        hint: `Declare both with the type of the sequence, or declare no columns at all.`,
      },
    ),
  );
}

/** What the rows of the feeds are matched with: the history's columns are ours to fill. */
function withoutHistory(table: TableDataset, { body }: Feed): TableDataset {
  const { columns } = table;
  if (body.cdc.scdType !== 2 || columns === undefined || columns === 'broken') return table;
  return { ...table, columns: columns.filter(({ name }) => !isHistoryColumn(name)) };
}

function isHistoryColumn(name: string): boolean {
  return historyColumnNames.some((one) => nameKey(one) === nameKey(name));
}

// ---------------------------------------------------------------- one feed

function bindFeed(feed: Feed, target: TableDataset, table: TableDataset): BoundCdcFlow {
  const { declaration, body, context, source, given } = feed;
  const { cdc } = body;
  const { faults } = context;
  if (cdc.scdType === 2) checkReserved(feed);
  const { columns, projection } = matchTarget(target, given, faults);
  const sequence = bindSequence(feed, table);
  const deleteWhen = bindWhen(cdc.deleteWhen, 'APPLY AS DELETE WHEN', feed);
  const truncateWhen = bindWhen(cdc.truncateWhen, 'APPLY AS TRUNCATE WHEN', feed);
  const extras = new Extras(projection);
  const bound = {
    sequence: extras.add('__sequence', sequence),
    deleteWhen: extras.add('__delete', deleteWhen),
    truncateWhen: extras.add('__truncate', truncateWhen),
  };
  const relation = withStep(source, { step: 'project', columns: extras.columns });
  warnOfRowChance(relation, faults);
  warnOfEnvelope(source, cdc.source.place, faults);
  const keys = bindKeys(feed, columns);
  const names = columns.map(({ name }) => name);
  const ignored = chosenPositions(cdc.ignoreNullUpdates, cdc.ignoreNullColumns, names, context);
  return {
    kind: 'auto_cdc',
    declaration,
    table,
    once: cdc.once,
    columns,
    relation,
    keys,
    ...bound,
    ignoreNull: ignored.filter((position) => !keys.includes(position)),
    tracked:
      cdc.scdType === 2 ? chosenPositions(true, cdc.trackHistory, names, context) : undefined,
  };
}

/** All columns, those named, or all but those named. */
function chosenPositions(
  isChosen: boolean,
  selection: ColumnSelection | undefined,
  names: readonly string[],
  context: BindContext,
): readonly number[] {
  if (!isChosen) return [];
  const all = [...names.keys()];
  if (selection === undefined) return all;
  const chosen = new Set(namesOf(selection, names, 'columns of the table', context));
  return all.filter((at) => chosen.has(nameKey(names[at] ?? '')) !== selection.except);
}

/** Values that ride behind the columns of the target, so that steps above them treat them as any column. */
class Extras {
  readonly #columns: ProjectedColumn[];

  constructor(projection: readonly ProjectedColumn[]) {
    this.#columns = [...projection];
  }

  get columns(): readonly ProjectedColumn[] {
    return this.#columns;
  }

  add(name: string, value: BoundExpression | undefined): BoundExpression | undefined {
    if (value === undefined) return undefined;
    const { type, place } = value;
    this.#columns.push({ name, value });
    return columnNode({ name, type, index: this.#columns.length - 1, place });
  }
}

function checkReserved({ given, context }: Feed): void {
  for (const { name, place } of given.columns) {
    if (name === undefined || !isHistoryColumn(name)) continue;
    context.faults.add(
      planFault(
        'CDC_HISTORY_COLUMNS',
        `column "${name}" has the name of one of the history`,
        place,
        {
          hint: 'Leave it out with COLUMNS * EXCEPT (…), or rename it in a subquery.',
        },
      ),
    );
  }
}

function bindKeys(feed: Feed, columns: readonly TargetColumn[]): number[] {
  const { body, source, context } = feed;
  const { faults } = context;
  const positions: number[] = [];
  const seen = new Set<string>();
  for (const key of body.cdc.keys) {
    const name = key.node === 'column' ? (key.name.parts.at(-1)?.text ?? '') : '';
    if (seen.has(nameKey(name))) {
      const hint = 'Name each key column once.';
      const message = `key column "${name}" stands twice`;
      faults.add(planFault('KEY_DUPLICATE', message, key.place, { hint }));
    }
    seen.add(nameKey(name));
    const position = columns.findIndex((column) => nameKey(column.name) === nameKey(name));
    const column = columns[position];
    if (column === undefined || !column.given) {
      faults.add(keyUnknown(name, key, source, columns));
      continue;
    }
    positions.push(position);
    if (column.broken) continue;
    checkKeyType(column, key.place, context);
    checkKeyChance(column.name, key.place, feed);
  }
  return positions;
}

/** What makes a value depend on the clock or on chance, in any branch. */
function chanceOf({ branches }: BoundRelation, value: BoundExpression): string | undefined {
  return branches
    .map((branch) => chanceUpstream(atEnd(branch, value)))
    .find((one) => one !== undefined);
}

function checkKeyChance(name: string, place: Place, { source, context }: Feed): void {
  const column = source.columns.find(
    (one) => !one.hidden && nameKey(one.name ?? '') === nameKey(name),
  );
  const chance = column === undefined ? undefined : chanceOf(source, columnNode(column));
  if (chance === undefined) return;
  context.faults.add(
    planFault('KEY_NONDETERMINISTIC', `key column "${name}" depends on ${chance}`, place, {
      detail: 'A change that is read again would get another key and stay beside the first.',
      hint: 'Use a value that the record itself carries.',
    }),
  );
}

function keyUnknown(
  name: string,
  key: Expression,
  source: BoundRelation,
  columns: readonly TargetColumn[],
) {
  const isLeftOut = source.columns.some(
    (column) => !column.hidden && nameKey(column.name ?? '') === nameKey(name),
  );
  const given = columns.filter((column) => column.given).map((column) => column.name);
  return isLeftOut
    ? planFault('KEY_UNKNOWN', `key column "${name}" is not among the COLUMNS`, key.place, {
        hint: 'A row is found by its key, so the table has to store it.',
      })
    : planFault('KEY_UNKNOWN', `the source gives no key column "${name}"`, key.place, {
        hint: nameHint(name, given, 'columns of the source'),
      });
}

function checkKeyType({ name, type }: Column, place: Place, { faults }: BindContext): void {
  if (isOrderable(type) && type.kind !== 'void') return;
  faults.add(
    planFault('KEY_TYPE', `key column "${name}" is of type ${formatType(type)}`, place, {
      detail: 'Keys are compared, so their type needs an order; MAP and VARIANT have none.',
      hint: 'Take a value out of it into a column of its own, or turn it into text with to_json.',
    }),
  );
}

function bindSequence(feed: Feed, table: TableDataset): BoundExpression | undefined {
  const { body, context } = feed;
  const { faults } = context;
  const [node] = body.cdc.sequence ?? [];
  if (node === undefined) return undefined;
  const sequence = bindClause(node, 'SEQUENCE BY', feed);
  if (sequence === undefined) return undefined;
  const { type, place } = sequence;
  if (!isOrderable(type) || type.kind === 'void') {
    faults.add(
      planFault('SEQUENCE_TYPE', `the sequence is of type ${formatType(type)}`, place, {
        detail: 'Sequences are compared, so their type needs an order; MAP and VARIANT have none.',
        hint: 'Use a number, a string, a date, a timestamp, or a struct or array of those.',
      }),
    );
    return undefined;
  }
  const chance = chanceOf(feed.source, sequence);
  if (chance !== undefined) {
    faults.add(
      planFault('SEQUENCE_NONDETERMINISTIC', `the sequence depends on ${chance}`, place, {
        hint: "Use a value that the record itself carries, or the record's own _offset.",
      }),
    );
  }
  if (body.cdc.scdType === 2) checkHistoryType(table, type, feed);
  return sequence;
}

function checkHistoryType(
  { columns, name: table, place }: TableDataset,
  type: BoundExpression['type'],
  { context }: Feed,
): void {
  if (columns === undefined || columns === 'broken') return;
  for (const { name, type: declared } of columns) {
    if (!isHistoryColumn(name) || sameType(declared, type)) continue;
    context.faults.add(
      planFault(
        'CDC_HISTORY_COLUMNS',
        `column "${name}" of "${table}" is declared ${formatType(declared)}, and the sequence is ${formatType(type)}`,
        place,
        { hint: `Declare it ${formatType(type).toUpperCase()}.` },
      ),
    );
  }
}

function bindWhen(
  node: Expression | undefined,
  clause: string,
  feed: Feed,
): BoundExpression | undefined {
  if (node === undefined) return undefined;
  const bound = bindClause(node, clause, feed);
  if (bound === undefined) return undefined;
  if (bound.type.kind === 'boolean' || bound.type.kind === 'void')
    return asCondition(bound, clause);
  const message = `${clause} needs a boolean, not ${formatType(bound.type)}`;
  feed.context.faults.add(planFault('CDC_WHEN_TYPE', message, node.place));
  return undefined;
}

/** Over the columns of the source, hidden ones too: what is not stored can be looked at all the same. */
function bindClause(
  node: Expression,
  clause: string,
  { source, context }: Feed,
): BoundExpression | undefined {
  const rule = { clause, allowsGenerator: false, hasWatermark: false };
  if (!checkRowExpression(node, rule, context.faults)) return undefined;
  return bindRow(node, { columns: source.columns, aliases: [] }, context);
}

// ---------------------------------------------------------------- several feeds of one table

function checkAgreement(first: BoundCdcFlow, other: BoundCdcFlow, { faults }: BindContext): void {
  const names = ({ keys, columns }: BoundCdcFlow) =>
    keys.map((position) => nameKey(columns[position]?.name ?? '')).join(', ');
  const type = ({ sequence }: BoundCdcFlow) =>
    sequence === undefined ? undefined : formatType(sequence.type);
  const different: string[] = [];
  const hasKeys = first.keys.length > 0 && other.keys.length > 0;
  if (hasKeys && names(first) !== names(other)) different.push('KEYS');
  const [one, two] = [type(first), type(other)];
  if (one !== undefined && two !== undefined && one !== two) {
    different.push(`the type of SEQUENCE BY (${one} and ${two})`);
  }
  if ((first.tracked === undefined) !== (other.tracked === undefined)) {
    different.push('STORED AS SCD TYPE');
  } else if (first.tracked?.join() !== other.tracked?.join()) {
    different.push('TRACK HISTORY ON');
  }
  if (different.length === 0) return;
  faults.add(
    planFault(
      'CDC_FLOWS_DIFFER',
      `flows "${first.declaration.name}" and "${other.declaration.name}" into "${first.table.name}" differ in ${different.join(' and ')}`,
      other.declaration.place,
      {
        detail: 'Their changes are merged as those of one feed, by one key and one sequence.',
        hint: 'Write the same clause in both, with a cast where types differ, or give one flow a table of its own.',
      },
    ),
  );
}
