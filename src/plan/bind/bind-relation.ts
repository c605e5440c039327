import { nearestNames } from '../../base/nearest-name.ts';
import type { Fault, Place } from '../../base/place.ts';
import type { Identifier, Name, Query, Relation, TableAlias } from '../../sql/ast.ts';
import {
  type Dataset,
  nounOf,
  type SourceDataset,
  type TableDataset,
  tableSourcePlan,
  type ViewDataset,
} from '../catalog.ts';
import { undeclared } from '../declared-source.ts';
import { viewExpectations } from '../expectations.ts';
import { type FaultList, notSupportedYet, planFault } from '../faults.ts';
import { kindOf } from '../flows/flow-kind.ts';
import { idleTableHint } from '../flows/idle-table.ts';
import { checkJoin } from '../flows/join-rules.ts';
import { functionName, generatorOf } from '../flows/row-rules.ts';
import { bindStaticJoin } from '../flows/static-join.ts';
import { bindStreamJoin } from '../flows/stream-join.ts';
import { commonTable, isStreaming, isStreamingQuery } from '../flows/stream-kind.ts';
import { withWatermark } from '../flows/watermark.ts';
import type { SourcePlan } from '../pipeline-plan.ts';
import { bindReadKafka } from '../read-kafka.ts';
import {
  type BoundRelation,
  renamed,
  sourceRelation,
  tableRelation,
  withColumnNames,
  withStep,
} from '../relation.ts';
import { type BindContext, bindNamedQuery, type CommonTable, factsIn } from './bind-context.ts';
import { bindFirstVersions, streamOfChanges } from './first-versions.ts';
import { bindGenerator } from './generator.ts';
import { listed, nameHint } from './name-hint.ts';
import { nameKey, nameText } from './names.ts';

/**
 * Binds what stands in FROM. Gives undefined where there is nothing to bind further: the reason is in
 * the fault list then.
 */
export function bindRelation(relation: Relation, context: BindContext): BoundRelation | undefined {
  switch (relation.node) {
    case 'named':
      return bindNamed(relation, context);
    case 'function':
      return bindFunction(relation, context);
    case 'subquery':
      return bindSubquery(relation, context);
    case 'join':
      return bindJoin(relation, context);
    case 'inline':
      return bindInline(relation.place, context);
    case 'foreign':
      return bindForeign(relation, context);
    case 'unread':
      return undefined;
  }
}

type NamedRelation = Extract<Relation, { node: 'named' }>;

function bindNamed(relation: NamedRelation, context: BindContext): BoundRelation | undefined {
  const { name, alias, watermark } = relation;
  const common = commonTable(name, context);
  const qualifier = name.parts.map((part) => nameKey(part.text));
  checkStreamOptions(relation, context.faults);
  if (relation.stream && context.isOnce === true && context.views.length === 0) {
    context.faults.add(streamOnce(relation.place, nameText(name)));
    return undefined;
  }
  const bound =
    common !== undefined
      ? bindCommonTable(common, relation, context)
      : bindDataset(relation, qualifier, context);
  const marked = withWatermark(bound, watermark, context);
  return marked === undefined ? undefined : aliased(marked, alias, qualifier, context.faults);
}

function bindCommonTable(
  common: CommonTable,
  relation: NamedRelation,
  context: BindContext,
): BoundRelation | undefined {
  const inner = { ...context, ctes: common.ctes };
  const isStreamed = isStreamedWhole(common.query, relation, inner);
  const bound = bindNamedQuery(common.query, { ...inner, isStreamed });
  if (bound === undefined || common.columns.length === 0) return bound;
  return named(bound, common.columns, context.faults);
}

function bindDataset(
  relation: NamedRelation,
  qualifier: readonly string[],
  context: BindContext,
): BoundRelation | undefined {
  const dataset = context.catalog.find(relation.name);
  switch (dataset?.kind) {
    case undefined:
      return unknownName(relation, context);
    case 'source':
      return bindSource(dataset, relation, qualifier, context);
    case 'view':
      return bindView(dataset, relation, context);
    case 'table':
      return bindTable(dataset, relation, qualifier, context);
    case 'sink':
    case 'materialized view':
      return notAStream(dataset, relation, context.faults);
  }
}

function bindSource(
  source: SourceDataset,
  relation: NamedRelation,
  qualifier: readonly string[],
  context: BindContext,
): BoundRelation | undefined {
  if (!relation.stream && !context.isStreamed && !context.isStatic) {
    streamMissing(`source "${source.name}"`, relation.name, context.faults);
  }
  if (source.broken) return undefined;
  if (source.plan.file !== undefined && !context.isStatic) {
    context.faults.add(fileStreamed(source, relation.name.place));
    return undefined;
  }
  const { plan, declared, brokenColumns } = source;
  return sourceRelation(plan, declared, qualifier, relation.place, brokenColumns);
}

/** A file is all there at once and may be written anew: it has no order in which rows arrive. */
export function fileStreamed({ name }: SourceDataset, place: Place): Fault {
  return planFault(
    'FILE_NOT_STREAMING',
    `source "${name}" is a file, which only joins read`,
    place,
    {
      detail: 'It is the static side of a join, and stands on the right without STREAM.',
      hint: 'Write its lines to a topic to stream them or to compute a materialized view of them.',
    },
  );
}

function bindView(
  view: ViewDataset,
  relation: NamedRelation,
  context: BindContext,
): BoundRelation | undefined {
  const key = nameKey(view.name);
  // A circle of views has its own fault; here it only must not go on for ever.
  if (context.views.includes(key)) return undefined;
  const inner = { ...context, ctes: new Map(), views: [...context.views, key] };
  const isStreamed = isStreamedWhole(view.query, relation, inner);
  return bindViewRows(view, { ...inner, isStreamed });
}

/** STREAM around a name makes a stream of all that its query reads, unless the query says itself what is one. */
function isStreamedWhole(query: Query, relation: NamedRelation, context: BindContext): boolean {
  if (!relation.stream && !context.isStreamed) return false;
  return !isStreamingQuery(query, { ...context, isStreamed: false });
}

/** The rows of a view, judged by its expectations; `context` is that inside of it. */
export function bindViewRows(view: ViewDataset, context: BindContext): BoundRelation | undefined {
  const { judged } = factsIn(context);
  if (judged.has(view)) return judged.get(view);
  const bound = bindNamedQuery(view.query, context);
  const step = bound === undefined ? undefined : viewExpectations(view, bound, context);
  const rows = bound === undefined || step === undefined ? bound : withStep(bound, step);
  judged.set(view, rows);
  return rows;
}

function bindTable(
  table: TableDataset,
  relation: NamedRelation,
  qualifier: readonly string[],
  context: BindContext,
): BoundRelation | undefined {
  if (context.isStatic && !relation.stream)
    return bindStaticTable(table, relation, qualifier, context);
  if (!relation.stream && !context.isStreamed) {
    streamMissing(`streaming table "${table.name}"`, relation.name, context.faults);
  }
  const { catalog, faults } = context;
  const kinds = catalog.flows
    .filter(({ target }) => catalog.find(target) === table)
    .map((flow) => kindOf(flow));
  if (kinds.some((kind) => kind.startsWith('replace_using'))) {
    return bindReplacedTable(table, relation, qualifier, context);
  }
  if (kinds.some((kind) => kind.startsWith('replace_where'))) {
    return computedTable(table, relation, faults);
  }
  if (skipsChanges(relation) && kinds.some((kind) => kind === 'auto_cdc')) {
    return bindFirstVersions(table, relation, qualifier, context);
  }
  if (kinds.some((kind) => kind !== 'append' && kind !== 'once')) {
    faults.add(streamOfChanges(table, relation.place, catalog));
    return undefined;
  }
  if (kinds.length === 0) {
    const construct = 'a flow that streams a table which no flow writes';
    faults.add(notSupportedYet(construct, relation.place, idleTableHint(table)));
    return undefined;
  }
  const columns = context.columnsOf(table);
  if (columns === undefined) return undefined;
  const source = tableSourcePlan(table, columns);
  // A source of its own: another flow may read the table and mind what happens to it.
  const read: SourcePlan = skipsChanges(relation)
    ? { ...source, name: `${source.name} (skipChangeCommits)`, skipsChanges: true }
    : source;
  return tableRelation(read, qualifier, relation.place);
}

/** On the static side of a join a table is what it holds now, whatever its flows do. */
function bindStaticTable(
  table: TableDataset,
  relation: NamedRelation,
  qualifier: readonly string[],
  context: BindContext,
): BoundRelation | undefined {
  const { catalog, faults } = context;
  const flows = catalog.flows.filter(({ target }) => catalog.find(target) === table);
  if (flows.some((flow) => kindOf(flow).startsWith('replace_where'))) {
    return computedTable(table, relation, faults);
  }
  if (flows.length === 0) {
    const construct = 'a join with a table that no flow writes';
    faults.add(notSupportedYet(construct, relation.place, idleTableHint(table)));
    return undefined;
  }
  const columns = context.columnsOf(table);
  if (columns === undefined) return undefined;
  return tableRelation(tableSourcePlan(table, columns), qualifier, relation.place);
}

/** A batch is computed when the flows of an update are done: none of them can wait for it. */
function computedTable(
  { name }: TableDataset,
  { place }: NamedRelation,
  faults: FaultList,
): undefined {
  const message = `streaming table "${name}" is computed by a REPLACE WHERE flow, so no flow can read it`;
  const detail = 'It is computed when all flows of an update are done, and rows of it go again.';
  const hint = `Read "${name}" in a materialized view, or in another REPLACE WHERE flow.`;
  faults.add(planFault('SOURCE_NOT_STREAMING', message, place, { detail, hint }));
  return undefined;
}

export function bindInline(place: Place, context: BindContext): undefined {
  if (!context.isStatic) return notStreaming('VALUES', place, context.faults);
  const hint = 'Write its rows to a compacted topic, or compute the value with CASE or a map.';
  context.faults.add(notSupportedYet('a join with VALUES', place, hint));
  return undefined;
}

function skipsChanges({ options }: NamedRelation): boolean {
  return options.some(({ key, value }) => nameKey(key) === 'skipchangecommits' && value === true);
}

/** Only a flow that replaces them in its turn may read rows that are replaced: anywhere else they would stay. */
function bindReplacedTable(
  table: TableDataset,
  relation: NamedRelation,
  qualifier: readonly string[],
  context: BindContext,
): BoundRelation | undefined {
  const { faults } = context;
  if (skipsChanges(relation)) return bindFirstVersions(table, relation, qualifier, context);
  if (context.flow !== 'replace_using') {
    faults.add(
      planFault(
        'STREAM_OF_REPLACED_ROWS',
        `the rows of streaming table "${table.name}" are replaced, so only a REPLACE USING flow can stream them`,
        relation.place,
        {
          detail: 'Which of the replaced rows it would see depends on how the input was batched.',
          hint: `Use a materialized view over "${table.name}", or REPLACE USING with the keys and the sequence of that table.`,
        },
      ),
    );
    return undefined;
  }
  const columns = context.columnsOf(table);
  const replaced = columns === undefined ? undefined : context.replacedBy(table);
  if (columns === undefined || replaced === undefined) return undefined;
  return tableRelation({ ...tableSourcePlan(table, columns), replaced }, qualifier, relation.place);
}

const streamOptions: readonly string[] = ['skipChangeCommits'];

function checkStreamOptions(relation: NamedRelation, faults: FaultList): void {
  for (const option of relation.options) {
    if (!streamOptions.some((known) => nameKey(known) === nameKey(option.key))) {
      const hint = nameHint(option.key, streamOptions, 'options of a stream');
      const message = `a stream has no option "${option.key}"`;
      faults.add(planFault('OPTION_UNKNOWN', message, option.place, { hint }));
    } else if (typeof option.value !== 'boolean') {
      const message = `option "${option.key}" is true or false`;
      faults.add(planFault('OPTION_VALUE', message, option.place));
    }
  }
}

// ---------------------------------------------------------------- names that do not stream

function unknownName(relation: NamedRelation, context: BindContext): undefined {
  const { name, place } = relation;
  const text = nameText(name);
  const known = context.catalog.namesOf(['source', 'table', 'view', 'materialized view']);
  const commons = [...context.ctes.keys()];
  if (relation.stream || context.isStreamed) {
    const nearest = nearestNames(text, [...known, ...commons]);
    const message = `stream "${text}" is not declared, so its columns are not known`;
    const hint = nearest.length === 0 ? undefined : `Did you mean ${listed(nearest, 'or')}?`;
    context.faults.add(undeclared(text, name.place, message, hint));
    return undefined;
  }
  context.faults.add(
    planFault('NAME_UNKNOWN', `there is no source, table or view "${text}"`, place, {
      hint: /^snapshot$/i.test(text)
        ? 'Snapshots are not read by AUTO CDC: where each has all rows of its keys, write CREATE FLOW name AS INSERT INTO target BY NAME REPLACE USING (key) SEQUENCE BY sequence SELECT … FROM STREAM(source).'
        : (nameHint(text, [...known, ...commons], 'names') ?? 'Declare it with CREATE SOURCE.'),
    }),
  );
  return undefined;
}

/** What is read is bound as if STREAM stood there, for the other faults of the query. */
function streamOnce(place: Place, name: string): Fault {
  return planFault('STREAM_IN_ONCE', 'a flow that runs once reads no stream', place, {
    detail: 'Its query is a batch: it sees what its sources hold when the flow starts first.',
    hint: `Write FROM ${name}, without STREAM; or drop ONCE, and the flow goes on.`,
  });
}

function streamMissing(what: string, name: Name, faults: FaultList): void {
  faults.add(
    planFault('SOURCE_NOT_STREAMING', `${what} is read without STREAM`, name.place, {
      detail: 'A flow into a streaming table reads each record once, as it arrives.',
      hint: `Write STREAM(${nameText(name)}).`,
    }),
  );
}

function notAStream(dataset: Dataset, relation: NamedRelation, faults: FaultList): undefined {
  faults.add(
    planFault(
      'SOURCE_NOT_STREAMING',
      `${nounOf(dataset)} "${dataset.name}" is no stream`,
      relation.name.place,
      {
        detail:
          dataset.kind === 'sink'
            ? 'A sink is written and never read.'
            : 'A materialized view is computed anew by each update.',
        hint: 'Read a source or a streaming table with STREAM(name).',
      },
    ),
  );
  return undefined;
}

const fileFunctions: ReadonlySet<string> = new Set(['read_files', 'cloud_files']);

export function notStreaming(
  what: string,
  place: Place,
  faults: FaultList,
  hint = 'Read a source with FROM STREAM(name).',
): undefined {
  faults.add(
    planFault('SOURCE_NOT_STREAMING', `${what} is no stream`, place, {
      detail: 'A flow into a streaming table reads each record once, as it arrives.',
      hint,
    }),
  );
  return undefined;
}

// ---------------------------------------------------------------- functions, subqueries, joins

function bindFunction(
  relation: Extract<Relation, { node: 'function' }>,
  context: BindContext,
): BoundRelation | undefined {
  const name = functionName(relation.call);
  const { faults } = context;
  if (name !== 'read_kafka') {
    const hint = fileFunctions.has(name)
      ? "Files are no stream here: send their records to a topic, declared with CREATE SOURCE name (column TYPE, …) WITH (topic = '…', format = 'json'), and read FROM STREAM(name). A file can be the static side of a join."
      : undefined;
    return notStreaming(`the table function ${name}`, relation.place, faults, hint);
  }
  const bound = bindReadKafka(relation.call, relation.stream || context.isStreamed, faults);
  const marked = withWatermark(bound, relation.watermark, context);
  return marked === undefined ? undefined : aliased(marked, relation.alias, [name], faults);
}

function bindSubquery(
  relation: Extract<Relation, { node: 'subquery' }>,
  context: BindContext,
): BoundRelation | undefined {
  if (relation.stream) {
    context.faults.add(
      planFault('STREAM_OVER_QUERY', 'STREAM stands around a query', relation.place, {
        hint: 'Write STREAM around the name of the source inside the query: (SELECT … FROM STREAM(name)).',
      }),
    );
  }
  const bound = context.bindQuery(relation.query, {
    ...context,
    isStreamed: context.isStreamed || relation.stream,
  });
  const marked = withWatermark(bound, relation.watermark, context);
  return marked === undefined ? undefined : aliased(marked, relation.alias, [], context.faults);
}

function bindJoin(
  relation: Extract<Relation, { node: 'join' }>,
  context: BindContext,
): BoundRelation | undefined {
  const { left, right } = relation;
  if (relation.lateral && right.node === 'function' && generatorOf(right.call) !== undefined) {
    return bindLateralJoin(relation, right, context);
  }
  const checked = checkJoin(relation, context);
  if (checked === undefined) {
    // The stream sides are bound for their own faults.
    if (isStreaming(left, context)) bindRelation(left, context);
    if (isStreaming(right, context)) bindRelation(right, context);
    return undefined;
  }
  const stream = bindRelation(left, context);
  if (checked.with === 'stream') {
    const other = bindRelation(right, context);
    if (stream === undefined || other === undefined) return undefined;
    return bindStreamJoin({
      relation,
      kind: checked.kind,
      left: stream,
      right: other,
      context,
    });
  }
  const side = bindRelation(right, { ...context, isStatic: true });
  if (stream === undefined || side === undefined) return undefined;
  return bindStaticJoin({ relation, kind: checked.kind, stream, side, context });
}

/** `FROM STREAM(s) JOIN LATERAL explode(s.items) AS t(item)`. */
function bindLateralJoin(
  relation: Extract<Relation, { node: 'join' }>,
  right: Extract<Relation, { node: 'function' }>,
  context: BindContext,
): BoundRelation | undefined {
  const left = bindRelation(relation.left, context);
  const isPlain =
    relation.on === undefined || (relation.on.node === 'boolean' && relation.on.value);
  if (
    !isPlain ||
    relation.using.length > 0 ||
    !['inner', 'left', 'cross'].includes(relation.kind)
  ) {
    const hint = 'Join without a condition and filter with WHERE.';
    context.faults.add(notSupportedYet('a lateral join with a condition', relation.place, hint));
    return undefined;
  }
  if (left === undefined) return undefined;
  const found = bindGenerator({
    call: right.call,
    relation: left,
    outer: relation.kind === 'left',
    names: right.alias?.columns ?? [],
    qualifier: right.alias === undefined ? [] : [nameKey(right.alias.name.text)],
    context,
  });
  return found?.relation;
}

function bindForeign(
  relation: Extract<Relation, { node: 'foreign' }>,
  context: BindContext,
): undefined {
  const { clause } = relation.clause;
  context.faults.add(
    planFault('RELATION_REFUSED', `a streaming flow cannot have ${clause}`, relation.clause.place, {
      hint: 'Do it in a materialized view over the table.',
    }),
  );
  if (isStreaming(relation.relation, context)) bindRelation(relation.relation, context);
  return undefined;
}

// ---------------------------------------------------------------- aliases

function aliased(
  relation: BoundRelation,
  alias: TableAlias | undefined,
  qualifier: readonly string[],
  faults: FaultList,
): BoundRelation | undefined {
  if (alias === undefined) return renamed(relation, qualifier);
  const bound = renamed(relation, [nameKey(alias.name.text)]);
  return alias.columns.length === 0 ? bound : named(bound, alias.columns, faults);
}

function named(
  relation: BoundRelation,
  names: readonly Identifier[],
  faults: FaultList,
): BoundRelation | undefined {
  const bound = withColumnNames(relation, names);
  const [first] = names;
  if (bound === undefined && first !== undefined) {
    const actual = relation.columns.filter((column) => !column.hidden).length;
    const message = `the alias names ${names.length} columns of ${actual}`;
    faults.add(planFault('ALIAS_COLUMNS', message, first.place));
  }
  return bound;
}
