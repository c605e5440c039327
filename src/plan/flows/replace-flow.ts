import type { Place } from '../../base/place.ts';
import { isOrderable } from '../../data/compare.ts';
import { formatType } from '../../data/type-text.ts';
import { columnsOf } from '../../expr/columns.ts';
import type { Expression as BoundExpression } from '../../expr/expression.ts';
import type { Expression, FlowBody, Identifier, ReplaceUsing } from '../../sql/ast.ts';
import { asCondition } from '../bind/as-condition.ts';
import type { BindContext } from '../bind/bind-context.ts';
import { bindRow } from '../bind/bind-row.ts';
import { nameHint } from '../bind/name-hint.ts';
import { nameKey } from '../bind/names.ts';
import type { RowScope } from '../bind/scope.ts';
import type { FlowDeclaration, TableDataset } from '../catalog.ts';
import { chanceIn, chanceUpstream, coarseness, operationName } from '../explain/chance.ts';
import { warnOfRowChance } from '../explain/row-chance.ts';
import { type FaultList, notSupportedYet, planFault, planWarning } from '../faults.ts';
import { hiddenColumns } from '../pipeline-plan.ts';
import { type BoundRelation, withStep } from '../relation.ts';
import { matchTarget, type TargetColumn } from '../target-columns.ts';
import { atEnd, rootOf } from '../upstream.ts';
import { warnOfEnvelope } from './cdc-hint.ts';
import { warnOfLimit } from './limit.ts';
import { versionKeys } from './replaced-rows.ts';
import { checkRowExpression } from './row-rules.ts';

/** A REPLACE USING flow whose rules were checked; what it gives is whole only if no fault was found. */
export type BoundReplaceFlow = {
  readonly kind: 'replace_using';
  readonly once: boolean;
  readonly declaration: FlowDeclaration;
  readonly table: TableDataset;
  readonly columns: readonly TargetColumn[];
  /** Its branches end in rows of the target. */
  readonly relation: BoundRelation;
  readonly keys: readonly number[];
  /** undefined when it has a fault. */
  readonly sequence: BoundExpression | undefined;
  readonly emptyWhen: BoundExpression | undefined;
  /** By branch (`BranchPlan.versionKeys`). */
  readonly versionKeys: readonly (readonly number[] | undefined)[];
};

type InsertBody = Extract<FlowBody, { node: 'insert' }>;

/** Binds a REPLACE USING flow and checks its rules; every rule that can be judged is, whatever failed before. */
export function bindReplaceFlow(
  declaration: FlowDeclaration,
  body: InsertBody & { readonly replaceUsing: ReplaceUsing },
  table: TableDataset,
  context: BindContext,
): BoundReplaceFlow | undefined {
  const { replaceUsing } = body;
  checkSyntax(declaration, replaceUsing, context.faults);
  const query = context.bindQuery(body.query, context);
  if (query === undefined) return undefined;
  const target = matchTarget(table, query, context.faults);
  const relation = withStep(query, { step: 'project', columns: target.projection });
  const flow = { relation, columns: target.columns, table };
  const keys = bindKeys(replaceUsing.keys, flow, context.faults);
  const sequence = bindSequence(replaceUsing, flow, context);
  const emptyWhen = bindEmptyWhen(replaceUsing.emptyWhen, flow, context);
  warnOfRows(relation, context.faults);
  warnOfEnvelope(relation, declaration.place, context.faults);
  checkLimit(relation, table, context.faults);
  const { columns } = target;
  return {
    kind: 'replace_using',
    once: body.once,
    declaration,
    table,
    columns,
    relation,
    keys,
    sequence,
    emptyWhen,
    versionKeys: versionKeys(
      {
        relation,
        keys: keys.length === replaceUsing.keys.length ? keys : undefined,
        sequence,
        place: replaceUsing.place,
      },
      context.faults,
    ),
  };
}

type Flow = {
  readonly relation: BoundRelation;
  readonly columns: readonly TargetColumn[];
  readonly table: TableDataset;
};

// ---------------------------------------------------------------- syntax

function checkSyntax(declaration: FlowDeclaration, using: ReplaceUsing, faults: FaultList): void {
  const [first] = using.keys;
  if (first === undefined) {
    faults.add(
      planFault('REPLACE_USING_KEY_MISSING', 'REPLACE USING names no key column', using.place, {
        hint: 'Write REPLACE USING (k, …) with the columns whose rows replace each other.',
      }),
    );
  }
  const seen = new Set<string>();
  for (const { text, place } of using.keys) {
    if (seen.has(nameKey(text))) {
      faults.add(
        planFault('KEY_DUPLICATE', `key column "${text}" stands twice`, place, {
          detail: 'Column names are the same whatever their case.',
          hint: 'Name each key column once.',
        }),
      );
    }
    seen.add(nameKey(text));
  }
  checkSequenceCount(using.sequence, 'REPLACE USING', using.place, faults);
  const { body } = declaration;
  if (body.node === 'insert' && !body.byName) faults.add(byNameMissing(using.place));
}

export function byNameMissing(place: Place, hint?: string) {
  return planFault('BY_NAME_MISSING', 'the flow does not say BY NAME', place, {
    detail: 'Columns are matched by name, never by position.',
    hint:
      hint ??
      'Write … SEQUENCE BY s BY NAME SELECT … after CREATE STREAMING TABLE … FLOW, and INSERT INTO t BY NAME … in CREATE FLOW.',
  });
}

export function checkSequenceCount(
  sequence: readonly Expression[] | undefined,
  clause: string,
  place: Place,
  faults: FaultList,
): void {
  if (sequence === undefined || sequence.length === 0) {
    faults.add(
      planFault('SEQUENCE_BY_MISSING', `${clause} has no SEQUENCE BY`, place, {
        detail: 'Without a sequence nothing says which rows of a key are newer.',
        hint: 'Add SEQUENCE BY with a column that grows with each version of a key, such as a version number or a time.',
      }),
    );
    return;
  }
  const second = sequence[1];
  if (second !== undefined) {
    faults.add(
      planFault(
        'SEQUENCE_BY_COUNT',
        `SEQUENCE BY has ${sequence.length} expressions instead of one`,
        second.place,
        { hint: 'Combine them into one: SEQUENCE BY struct(a, b).' },
      ),
    );
  }
}

// ---------------------------------------------------------------- keys

function bindKeys(keys: readonly Identifier[], flow: Flow, faults: FaultList): number[] {
  const positions: number[] = [];
  for (const key of keys) {
    const position = flow.columns.findIndex(({ name }) => nameKey(name) === nameKey(key.text));
    const column = flow.columns[position];
    if (column === undefined || !column.given) {
      faults.add(keyUnknown(key, flow));
      continue;
    }
    positions.push(position);
    if (!column.broken) checkKey(key, column, position, { flow, faults });
  }
  return positions;
}

function keyUnknown(key: Identifier, flow: Flow) {
  const undeclared = undeclaredFault('key', key.text, flow);
  const { message, hint } = undeclared ?? {
    message: `the query gives no key column "${key.text}"`,
    hint: nameHint(key.text, givenNames(flow), 'columns of the query') ?? 'Select the column.',
  };
  return planFault('KEY_UNKNOWN', message, key.place, { hint });
}

function givenNames(flow: Flow): readonly string[] {
  return flow.columns.filter((column) => column.given).map((column) => column.name);
}

/** What the query gives and the table does not declare is no column of its rows; undefined: the query does not give it. */
function undeclaredFault(what: string, name: string, { relation, table }: Flow) {
  const isGiven = relation.columns.some(
    (column) => !column.hidden && nameKey(column.name ?? '') === nameKey(name),
  );
  if (!isGiven) return undefined;
  return {
    message: `streaming table "${table.name}" declares no ${what} column "${name}"`,
    hint: `The query gives it, and the rows of the table lack it: declare it among the columns of "${table.name}", or declare none.`,
  };
}

function checkKey(
  key: Identifier,
  column: TargetColumn,
  position: number,
  { flow, faults }: { flow: Flow; faults: FaultList },
): void {
  if (!isOrderable(column.type) || column.type.kind === 'void') {
    faults.add(
      planFault(
        'KEY_TYPE',
        `key column "${column.name}" is of type ${formatType(column.type)}`,
        key.place,
        {
          detail:
            'Keys are compared, so their type needs an order: numbers, strings, booleans, dates, times, binary, and arrays and structs of those. MAP and VARIANT have none.',
          hint: 'Take a value out of it into a column of its own, or turn it into text with to_json.',
        },
      ),
    );
  }
  const chance = chanceOf(flow, (value) => value === position);
  if (chance === undefined) return;
  faults.add(
    planFault(
      'KEY_NONDETERMINISTIC',
      `key column "${column.name}" depends on ${chance}`,
      key.place,
      {
        detail: 'A row that is read again would get another key and stay beside the first.',
        hint: 'Use a value that the record itself carries.',
      },
    ),
  );
}

/** The clock, chance or static data in what a column of the result is made of, in any branch. */
function chanceOf(flow: Flow, isMeant: (position: number) => boolean): string | undefined {
  for (const branch of flow.relation.branches) {
    const last = branch.steps.at(-1);
    if (last?.step !== 'project') continue;
    const before = { source: branch.source, steps: branch.steps.slice(0, -1) };
    for (const [position, { value }] of last.columns.entries()) {
      const found = isMeant(position) ? chanceUpstream(atEnd(before, value)) : undefined;
      if (found !== undefined) return found;
    }
  }
  return undefined;
}

// ---------------------------------------------------------------- sequence and APPLY AS EMPTY

function scopeOf(flow: Flow): RowScope {
  return {
    aliases: [],
    columns: flow.columns.map(({ name, type, broken, given }, index) => ({
      name: given ? name : undefined,
      type,
      index,
      qualifier: [nameKey(flow.table.name)],
      hidden: false,
      broken,
      place: flow.table.place,
    })),
  };
}

function bindSequence(
  using: ReplaceUsing,
  flow: Flow,
  context: BindContext,
): BoundExpression | undefined {
  const { faults } = context;
  const [node] = using.sequence ?? [];
  if (node === undefined) return undefined;
  const clause = { clause: 'SEQUENCE BY', allowsGenerator: false, hasWatermark: false };
  if (!checkRowExpression(node, clause, faults)) return undefined;
  if (node.node === 'column' && node.name.parts.length === 1) {
    const name = node.name.parts[0]?.text ?? '';
    const given = givenNames(flow);
    if (!given.some((known) => nameKey(known) === nameKey(name))) {
      const { message, hint } = undeclaredFault('sequence', name, flow) ?? {
        message: `the query gives no sequence column "${name}"`,
        hint:
          selectHint(name) ?? nameHint(name, given, 'columns of the query') ?? 'Select the column.',
      };
      faults.add(planFault('SEQUENCE_UNKNOWN', message, node.place, { hint }));
      return undefined;
    }
  }
  const sequence = bindRow(node, scopeOf(flow), context);
  if (sequence === undefined) return undefined;
  checkSequence(sequence, flow, faults);
  return sequence;
}

/** What each record has and no query gives unless it is asked to. */
function selectHint(name: string): string | undefined {
  const known = hiddenColumns.some((one) => nameKey(one.name) === nameKey(name));
  return known
    ? `Each record has it, and only columns of the query can be ordered by: select it under a name (SELECT …, ${name} AS record${name}), and write SEQUENCE BY record${name}, where each record holds all rows of its key.`
    : undefined;
}

function checkSequence(sequence: BoundExpression, flow: Flow, faults: FaultList): void {
  const { place, type } = sequence;
  if (!isOrderable(type) || type.kind === 'void') {
    faults.add(
      planFault('SEQUENCE_TYPE', `the sequence is of type ${formatType(type)}`, place, {
        detail: 'Sequences are compared, so their type needs an order; MAP and VARIANT have none.',
        hint: 'Use a number, a string, a date, a timestamp, or a struct or array of those.',
      }),
    );
    return;
  }
  const used = columnsOf(sequence);
  const own = chanceIn(sequence);
  const chance =
    own === undefined ? chanceOf(flow, (position) => used.has(position)) : operationName(own);
  if (chance !== undefined) {
    faults.add(
      planFault('SEQUENCE_NONDETERMINISTIC', `the sequence depends on ${chance}`, place, {
        detail: 'The order of versions would depend on when and in which order records were read.',
        hint: "Use a value that the record itself carries; or, where each record holds all rows of its key, select the record's own _timestamp or _offset and order by that.",
      }),
    );
  }
  const reason = coarsenessOf(sequence, flow);
  if (reason === undefined) return;
  faults.add(
    planWarning('SEQUENCE_COARSE', `versions of a key may tie: ${reason}`, place, {
      detail: 'Rows of one key and one sequence are all kept.',
      hint: 'Prefer a version number or a time in microseconds that all records of one snapshot share. Where each record holds all rows of its key, select _offset, too, and order by struct(time, _offset): of several records of one snapshot only the last would stay.',
    }),
  );
}

function coarsenessOf(sequence: BoundExpression, flow: Flow): string | undefined {
  for (const branch of flow.relation.branches) {
    const reason = coarseness(atEnd(branch, sequence));
    if (reason !== undefined) return reason;
  }
  return undefined;
}

function bindEmptyWhen(
  node: Expression | undefined,
  flow: Flow,
  context: BindContext,
): BoundExpression | undefined {
  const clause = { clause: 'APPLY AS EMPTY WHEN', allowsGenerator: false, hasWatermark: false };
  if (node === undefined || !checkRowExpression(node, clause, context.faults)) return undefined;
  const bound = bindRow(node, scopeOf(flow), context);
  if (bound === undefined) return undefined;
  if (bound.type.kind === 'boolean' || bound.type.kind === 'void') {
    return asCondition(bound, 'APPLY AS EMPTY WHEN');
  }
  const message = `APPLY AS EMPTY WHEN needs a boolean, not ${formatType(bound.type)}`;
  context.faults.add(planFault('EMPTY_WHEN_TYPE', message, node.place));
  return undefined;
}

// ---------------------------------------------------------------- warnings

/** All rows go through one task, which counts them. */
function checkLimit(
  { limit, distinct }: BoundRelation,
  table: TableDataset,
  faults: FaultList,
): void {
  if (limit === undefined) return;
  if (distinct !== undefined) {
    const hint =
      'Append SELECT DISTINCT … LIMIT to a table of its own and stream that table here, or filter with WHERE.';
    faults.add(notSupportedYet('LIMIT of SELECT DISTINCT', limit.place, hint));
  }
  const partitions = table.options.integer('partitions');
  if (partitions !== undefined && partitions.value !== 1) {
    faults.add(
      planFault(
        'LIMIT_PARTITIONS',
        `table "${table.name}" has ${partitions.value} partitions, and LIMIT runs as one task`,
        partitions.place,
        { hint: 'Leave the option out, or write partitions = 1.' },
      ),
    );
  }
  warnOfLimit(limit, faults);
}

function warnOfRows(relation: BoundRelation, faults: FaultList): void {
  warnOfRowChance(relation, faults);
  for (const branch of relation.branches) {
    // A version of a key that gives no row empties the key by itself.
    if (branch.source.replaced !== undefined) continue;
    for (const [i, step] of branch.steps.entries()) {
      if (step.step !== 'explode') continue;
      const before = { source: branch.source, steps: branch.steps.slice(0, i) };
      const value = rootOf(atEnd(before, step.value));
      if (!step.outer && !isNeverEmpty(value))
        faults.add(explodeEmpty(step.form, step.value.place));
    }
  }
}

/** `array(a, b)` and `map(k, v)` have elements whatever the row. */
function isNeverEmpty(value: BoundExpression): boolean {
  if (value.node !== 'call' || value.arguments.length === 0) return false;
  return ['array', 'map', 'windows'].includes(operationName(value));
}

function explodeEmpty(form: string, place: Place) {
  return planWarning(
    'EXPLODE_EMPTY',
    `an empty or NULL value gives no row, so it cannot replace the rows of its key`,
    place,
    {
      detail: `${form} gives a row for each element; a snapshot without elements leaves what was there before.`,
      hint: `Use ${form}_outer and, for an empty row-set, APPLY AS EMPTY WHEN (item IS NULL) after SEQUENCE BY.`,
    },
  );
}
