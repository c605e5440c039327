import { formatType, parseTypeText } from '../data/type-text.ts';
import type { Column, DataType } from '../data/types.ts';
import type { BranchDefinition, FlowDefinition } from '../plan/flows/flow-definition.ts';
import type { DeployedFlow } from './deployed-flow.ts';
import { shownExpression } from './shown-expression.ts';
import { readingChange, type TypeChange, typeChange } from './type-change.ts';

/** Reasons by the numbers of the rules for full refreshes; FL-21: a name that is used for something else. */
export type ReasonId =
  | 'FR-11'
  | 'FR-12'
  | 'FR-13'
  | 'FR-14'
  | 'FR-15'
  | 'FR-16'
  | 'FR-18'
  | 'FR-19'
  | 'FR-20'
  | 'FR-21'
  | 'FR-22'
  | 'FR-26'
  | 'FR-27'
  | 'FR-28'
  | 'FL-21';

export type FlowChange = {
  readonly id: ReasonId;
  /** `compatible`: the flow goes on from its checkpoint. `refresh`: what is there contradicts the new definition. */
  readonly effect: 'compatible' | 'refresh';
  /** One sentence for a person. */
  readonly text: string;
};

/**
 * What differs between the definition that a checkpoint was made with and the present one, and whether the flow may go
 * on from it. Invariant: without a change that asks for a refresh, a row that was merged before and one that is merged
 * now have the same key, the same order and the same form.
 */
export function flowChanges(before: DeployedFlow, after: DeployedFlow): readonly FlowChange[] {
  const [was, is] = [before.definition.kind, after.definition.kind];
  if (was !== is) {
    return [refresh('FL-21', `The flow was of kind ${was} and is of kind ${is}.`)];
  }
  if (before.definition.once !== after.definition.once) {
    const text =
      after.definition.once === true
        ? 'The flow went on for ever and runs once.'
        : 'The flow ran once and goes on for ever.';
    return [refresh('FL-21', text)];
  }
  return [
    ...placeChanges(before, after),
    ...keyChanges(before, after),
    ...sequenceChanges(before, after),
    ...sourceChanges(before, after),
    ...columnChanges(before, after),
    ...queryChanges(before, after),
    ...feedChanges(before, after),
    ...expectationChanges(before, after),
    ...deadLetterChanges(before, after),
  ];
}

export function needsRefresh(changes: readonly FlowChange[]): boolean {
  return changes.some(({ effect }) => effect === 'refresh');
}

function refresh(id: ReasonId, text: string): FlowChange {
  return { id, effect: 'refresh', text };
}

function compatible(id: ReasonId, text: string): FlowChange {
  return { id, effect: 'compatible', text };
}

// ---------------------------------------------------------------- where the rows are

export function placeChanges(before: DeployedFlow, after: DeployedFlow): FlowChange[] {
  const changes: FlowChange[] = [];
  if (before.topic !== after.topic) {
    changes.push(
      refresh(
        'FR-19',
        `The output topic was "${before.topic}" and is "${after.topic}", and the checkpoint says that its rows are written already.`,
      ),
    );
  } else if (before.target !== after.target) {
    changes.push(
      compatible(
        'FR-11',
        `The table was called "${before.target}" and is called "${after.target}"; its topic is the same.`,
      ),
    );
  }
  if (before.output !== after.output) {
    changes.push(
      refresh(
        'FR-19',
        `The output mode was ${before.output} and is ${after.output}: record keys are written otherwise.`,
      ),
    );
  }
  return changes;
}

// ---------------------------------------------------------------- keys and sequence

function keyChanges(before: DeployedFlow, after: DeployedFlow): FlowChange[] {
  const text = (keys: readonly Column[]): string =>
    keys.map(({ name, type }) => `${name} ${formatType(type)}`).join(', ');
  if (text(before.keys) !== text(after.keys)) {
    return [refresh('FR-13', `The key was (${text(before.keys)}) and is (${text(after.keys)}).`)];
  }
  return after.keys
    .filter(({ name }) => isComputedOtherwise(before, after, name))
    .map(({ name }) => refresh('FR-13', `Key column "${name}" is computed otherwise.`));
}

function sequenceChanges(before: DeployedFlow, after: DeployedFlow): FlowChange[] {
  const [was, is] = [before.definition, after.definition];
  const changes: FlowChange[] = [];
  if (was.sequenceValue !== is.sequenceValue || was.sequenceType !== is.sequenceType) {
    const [old, now] = [shownSequence(was), shownSequence(is)];
    const text =
      old === now
        ? `SEQUENCE BY ${now} was of type ${was.sequenceType.toUpperCase()} and is of type ${is.sequenceType.toUpperCase()}.`
        : `SEQUENCE BY was ${old} and is ${now}.`;
    changes.push(refresh('FR-28', text));
  } else {
    const otherwise = is.sequenceColumns.filter(
      (name) => !isKey(after, name) && isComputedOtherwise(before, after, name),
    );
    changes.push(
      ...otherwise.map((name) =>
        refresh('FR-28', `Column "${name}" of the sequence is computed otherwise.`),
      ),
    );
  }
  if (was.distinct !== is.distinct) {
    changes.push(refresh('FR-28', `DISTINCT was ${is.distinct ? 'added' : 'removed'}.`));
  }
  return changes;
}

/** Of a change feed each branch has its own, over the columns of its source. */
function shownSequence({ kind, sequenceValue, sequenceColumns }: FlowDefinition): string {
  if (kind !== 'auto_cdc') return shownExpression(sequenceValue, sequenceColumns);
  return sequenceValue
    .split(' | ')
    .map((one) => shownExpression(one))
    .join(' | ');
}

function isKey({ keys }: DeployedFlow, name: string): boolean {
  return keys.some((key) => key.name.toLowerCase() === name);
}

/** Columns by name in lower case → how each branch computes it; undefined: there is no such column. */
function valuesOf({ columns, definition }: DeployedFlow, name: string) {
  const position = columns.findIndex((column) => column.name.toLowerCase() === name.toLowerCase());
  if (position < 0) return undefined;
  return definition.branches.map(({ values }) => values[position]);
}

/** Only branches that both have are compared: others are changes of the sources. */
function isComputedOtherwise(before: DeployedFlow, after: DeployedFlow, name: string): boolean {
  const [was, is] = [valuesOf(before, name), valuesOf(after, name)];
  if (was === undefined || is === undefined) return false;
  return was.some((value, branch) => branch < is.length && is[branch] !== value);
}

// ---------------------------------------------------------------- sources

function sourceChanges(before: DeployedFlow, after: DeployedFlow): FlowChange[] {
  const [was, is] = [before.definition.branches, after.definition.branches];
  const topics = (branches: readonly BranchDefinition[]): string =>
    branches.map(({ topic }) => `"${topic}"`).join(', ');
  if (topics(was) !== topics(is)) {
    if (streamJoinsOf(before) !== streamJoinsOf(after)) {
      const text = `The flow read ${topics(was)} and reads ${topics(is)}: it had ${streamJoinsOf(before)} joins of two streams and has ${streamJoinsOf(after)}.`;
      return [refresh('FR-27', text)];
    }
    const isSubscription =
      was.length === is.length && before.sources.join('\n') === after.sources.join('\n');
    return [
      refresh(
        isSubscription ? 'FR-22' : 'FR-20',
        `The flow read ${topics(was)} and reads ${topics(is)}, in this order.`,
      ),
    ];
  }
  return is.flatMap((branch, position) => branchChanges(was[position] ?? branch, branch));
}

function branchChanges(was: BranchDefinition, is: BranchDefinition): FlowChange[] {
  const changes: FlowChange[] = [];
  const source = `the source of topic "${is.topic}"`;
  if (was.format !== is.format) {
    changes.push(
      refresh('FR-21', `The format of ${source} was ${was.format} and is ${is.format}.`),
    );
  }
  const [before, after] = [explodesOf(was), explodesOf(is)];
  if (!sameTexts(before, after)) {
    changes.push(
      refresh(
        'FR-11',
        `A record of topic "${is.topic}" gives other rows: EXPLODE was [${before.join(', ')}] and is [${after.join(', ')}].`,
      ),
    );
  }
  changes.push(...readChanges(was, is), ...joinChanges(was, is));
  if (was.tombstones !== is.tombstones) {
    changes.push(
      compatible(
        'FR-11',
        `Tombstones of ${source} were "${was.tombstones}" and are "${is.tombstones}" from now on.`,
      ),
    );
  }
  return changes;
}

/** Columns of the source that the flow reads by another type: what was read by the old one has to be readable still. */
function readChanges(was: BranchDefinition, is: BranchDefinition): FlowChange[] {
  const before = new Map(was.reads.map(readColumn).map(({ name, type }) => [name, type]));
  return is.reads.map(readColumn).flatMap(({ name, type }) => {
    const former = before.get(name);
    if (former === undefined || type === undefined) return [];
    const text = `Column "${name}" of the source of topic "${is.topic}" was ${formatType(former)} and is ${formatType(type)}`;
    return readChange(readingChange(former, type), text);
  });
}

function readChange(change: TypeChange, text: string): FlowChange[] {
  switch (change) {
    case 'same':
      return [];
    case 'widened':
      return [compatible('FR-14', `${text}: every record that was read can be read.`)];
    case 'narrowed':
      return [refresh('FR-14', `${text}: not every record that was read fits.`)];
    case 'incompatible':
      return [refresh('FR-15', `${text}: records that were read can not be read so.`)];
  }
}

/** `name type`; a name may have spaces, too. */
function readColumn(text: string): { readonly name: string; readonly type: DataType | undefined } {
  for (let at = text.indexOf(' '); at >= 0; at = text.indexOf(' ', at + 1)) {
    const type = typeOf(text.slice(at + 1));
    if (type !== undefined) return { name: text.slice(0, at), type };
  }
  return { name: text, type: undefined };
}

function typeOf(text: string): DataType | undefined {
  try {
    return parseTypeText(text);
  } catch {
    return undefined;
  }
}

/** What a flow joins of streams it reads from tables that are named after it. */
function streamJoinsOf({ sources }: DeployedFlow): number {
  return new Set(sources.filter((name) => /\.join\d*$/u.test(name))).size;
}

const joinStep = /^(inner|left|left_semi|left_anti) join /;

function joinsOf({ generators }: BranchDefinition): readonly string[] {
  return generators.filter((text) => joinStep.test(text));
}

function explodesOf({ generators }: BranchDefinition): readonly string[] {
  return generators.filter((text) => !joinStep.test(text));
}

/** A row of before has other partners, or none, under the present joins: which of both it is can't be seen from it. */
function joinChanges(was: BranchDefinition, is: BranchDefinition): FlowChange[] {
  const [before, after] = [joinsOf(was), joinsOf(is)];
  const kinds = (joins: readonly string[]): string =>
    joins.map((join) => joinStep.exec(join)?.[1] ?? '').join(', ') || 'none';
  if (before.length !== after.length) {
    return [
      refresh(
        'FR-27',
        `The joins of topic "${is.topic}" were: ${kinds(before)}; and are: ${kinds(after)}.`,
      ),
    ];
  }
  return after.some((join, at) => join !== before[at])
    ? [
        refresh(
          'FR-26',
          `A join of topic "${is.topic}" has another kind, condition or side: the joins were ${kinds(before)} and are ${kinds(after)}.`,
        ),
      ]
    : [];
}

// ---------------------------------------------------------------- columns

function columnChanges(before: DeployedFlow, after: DeployedFlow): FlowChange[] {
  const dropped = before.columns.filter(({ name }) => find(after, name) === undefined);
  const added = after.columns.filter(({ name }) => find(before, name) === undefined);
  const renamed = new Map<Column, Column>();
  for (const column of dropped) {
    const twin = added.find(
      (other) => ![...renamed.values()].includes(other) && isTwin(before, column, after, other),
    );
    if (twin !== undefined) renamed.set(column, twin);
  }
  const twins = new Set(renamed.values());
  return [
    ...[...renamed].map(([{ name }, twin]) =>
      refresh('FR-12', `Column "${name}" was renamed to "${twin.name}".`),
    ),
    ...dropped
      .filter((column) => !renamed.has(column))
      .map(({ name }) =>
        after.definition.kind === 'join'
          ? compatible('FR-16', `Column "${name}" is not kept any more: nothing reads it.`)
          : refresh('FR-16', `Column "${name}" was dropped.`),
      ),
    ...added
      .filter((column) => !twins.has(column))
      .map(({ name }) =>
        compatible('FR-18', `Column "${name}" was added; rows that are there lack it.`),
      ),
    ...before.columns.flatMap((column) => {
      const now = find(after, column.name);
      return now === undefined ? [] : keptColumnChanges(column, now, { before, after });
    }),
  ];
}

/** Computed alike and of one type: the same column by another name. */
function isTwin(before: DeployedFlow, was: Column, after: DeployedFlow, is: Column): boolean {
  const [from, to] = [valuesOf(before, was.name), valuesOf(after, is.name)];
  return (
    formatType(was.type) === formatType(is.type) &&
    from !== undefined &&
    to !== undefined &&
    sameTexts(from, to)
  );
}

function find({ columns }: DeployedFlow, name: string): Column | undefined {
  return columns.find((column) => column.name.toLowerCase() === name.toLowerCase());
}

function keptColumnChanges(
  was: Column,
  is: Column,
  { before, after }: { readonly before: DeployedFlow; readonly after: DeployedFlow },
): FlowChange[] {
  const changes: FlowChange[] = [];
  if (was.name !== is.name) {
    changes.push(refresh('FR-12', `Column "${was.name}" is written as "${is.name}".`));
  }
  const name = is.name.toLowerCase();
  // A change of the key or the sequence was told already.
  if (isKey(before, name) && isKey(after, name)) return changes;
  const changed = columnTypeChange(was, is);
  if (changed !== undefined) return [...changes, changed];
  if (
    !after.definition.sequenceColumns.includes(name) &&
    isComputedOtherwise(before, after, name)
  ) {
    changes.push(
      compatible(
        'FR-11',
        `Column "${is.name}" is computed otherwise from now on; rows that are there keep their values.`,
      ),
    );
  }
  return changes;
}

function columnTypeChange(was: Column, is: Column): FlowChange | undefined {
  const types = `Column "${is.name}" was ${formatType(was.type)} and is ${formatType(is.type)}`;
  switch (typeChange(was.type, is.type)) {
    case 'same':
      return undefined;
    case 'widened':
      return compatible('FR-14', `${types}: every value that is there fits.`);
    case 'narrowed':
      return refresh('FR-14', `${types}: not every value that is there fits.`);
    case 'incompatible':
      return refresh('FR-15', `${types}: values that are there are written otherwise.`);
  }
}

/** Of the columns that both have, keys apart. */
export function typeChanges(before: DeployedFlow, after: DeployedFlow): readonly FlowChange[] {
  return before.columns.flatMap((was) => {
    const is = find(after, was.name);
    if (is === undefined || isKey(after, is.name.toLowerCase())) return [];
    return columnTypeChange(was, is) ?? [];
  });
}

// ---------------------------------------------------------------- the rest of the query

function queryChanges(before: DeployedFlow, after: DeployedFlow): FlowChange[] {
  const [was, is] = [before.definition, after.definition];
  const changes: FlowChange[] = [];
  if (was.timeZone !== is.timeZone) {
    changes.push(refresh('FR-11', `The time zone was ${was.timeZone} and is ${is.timeZone}.`));
  }
  const isFiltered = is.branches.some(
    ({ filters }, branch) => !sameTexts(was.branches[branch]?.filters ?? filters, filters),
  );
  if (isFiltered) {
    changes.push(
      compatible('FR-11', 'The filter changed; it is applied to what is read from now on.'),
    );
  }
  if (was.limit !== is.limit) {
    const text = (limit: number | undefined): string => (limit === undefined ? 'none' : `${limit}`);
    changes.push(
      compatible(
        'FR-11',
        `LIMIT was ${text(was.limit)} and is ${text(is.limit)}; rows that it let through stay.`,
      ),
    );
  }
  if (was.join !== is.join) {
    const text =
      'What the join compares changed: rows that it keeps were told apart by other values.';
    changes.push(refresh('FR-26', text));
  }
  if (was.emptyWhenValue !== is.emptyWhenValue) {
    changes.push(
      compatible(
        'FR-11',
        'APPLY AS EMPTY WHEN changed; it is applied to what is read from now on.',
      ),
    );
  }
  return changes;
}

/** Clauses of AUTO CDC. */
export function feedChanges(before: DeployedFlow, after: DeployedFlow): FlowChange[] {
  const [was, is] = [before.definition.changes, after.definition.changes];
  if (was === undefined || is === undefined) return [];
  const changes: FlowChange[] = [];
  if (was.scdType !== is.scdType) {
    changes.push(
      refresh(
        'FR-28',
        `The table was stored as SCD type ${was.scdType} and is type ${is.scdType}.`,
      ),
    );
  } else if (!sameTexts(was.tracked, is.tracked)) {
    changes.push(
      refresh(
        'FR-28',
        `TRACK HISTORY was on (${was.tracked.join(', ')}) and is on (${is.tracked.join(', ')}).`,
      ),
    );
  }
  const isTreatedOtherwise =
    was.deleteWhen !== is.deleteWhen ||
    was.truncateWhen !== is.truncateWhen ||
    !sameTexts(was.ignoreNull, is.ignoreNull);
  if (isTreatedOtherwise) {
    changes.push(
      compatible(
        'FR-11',
        'What is a delete, a truncate or a NULL to ignore changed; it holds for what is read from now on.',
      ),
    );
  }
  return changes;
}

function expectationChanges(before: DeployedFlow, after: DeployedFlow): FlowChange[] {
  const text = (one: DeployedFlow['expectations'][number]): string => `${one.sql} ${one.action}`;
  const was = new Map(before.expectations.map((one) => [one.name, text(one)]));
  const is = new Map(after.expectations.map((one) => [one.name, text(one)]));
  const told = (verb: string, name: string): FlowChange =>
    compatible('FR-11', `Expectation "${name}" was ${verb}; it judges rows from now on.`);
  return [
    ...[...is].flatMap(([name, now]) => {
      const then = was.get(name);
      if (then === undefined) return [told('added', name)];
      return then === now ? [] : [told('changed', name)];
    }),
    ...[...was.keys()].filter((name) => !is.has(name)).map((name) => told('removed', name)),
  ];
}

function deadLetterChanges(before: DeployedFlow, after: DeployedFlow): FlowChange[] {
  const [was, is] = [before.deadLetterTopic ?? null, after.deadLetterTopic ?? null];
  if (was === is) return [];
  if (is === null) {
    const text = `The dead_letter_topic was "${was}" and is gone: a bad record stops the flow from now on.`;
    return [compatible('FR-11', text)];
  }
  const text =
    was === null
      ? `Bad records go to topic "${is}" from now on; they stopped the flow before.`
      : `Bad records go to topic "${is}" from now on; those in "${was}" stay there, and are listed and replayed no more.`;
  return [compatible('FR-11', text)];
}

function sameTexts(
  left: readonly (string | undefined)[],
  right: readonly (string | undefined)[],
): boolean {
  return left.length === right.length && left.every((text, at) => text === right[at]);
}
