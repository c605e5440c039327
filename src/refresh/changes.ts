import { formatType, parseTypeText } from '../data/type-text.ts';
import type { DataType } from '../data/types.ts';
import type { BranchDefinition, FlowDefinition } from '../plan/flows/flow-definition.ts';
import { columnChanges, isComputedOtherwise, isKey, sameTexts } from './column-changes.ts';
import type { DeployedFlow } from './deployed-flow.ts';
import { compatible, type FlowChange, refresh } from './flow-change.ts';
import { sideChanges } from './numbering-changes.ts';
import { distinctChanges, keyFormChanges, sequenceTypeChanges } from './order-changes.ts';
import { shownExpression } from './shown-expression.ts';
import { readingChange, type TypeChange } from './type-change.ts';

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

// ---------------------------------------------------------------- where the rows are

/** Whether the records of the two would stand in one topic under record keys of two kinds: no refresh takes that away. */
export function isOtherForm(before: DeployedFlow, after: DeployedFlow): boolean {
  return before.topic === after.topic && before.output !== after.output;
}

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

export function keyChanges(before: DeployedFlow, after: DeployedFlow): readonly FlowChange[] {
  const changed = keyFormChanges(before, after);
  if (changed.length > 0) return changed;
  return after.keys
    .filter(({ name }) => isComputedOtherwise(before, after, name))
    .map(({ name }) => refresh('FR-13', `Key column "${name}" is computed otherwise.`));
}

function sequenceChanges(before: DeployedFlow, after: DeployedFlow): FlowChange[] {
  const [was, is] = [before.definition, after.definition];
  const [old, now] = [shownSequence(was), shownSequence(is)];
  const changes: FlowChange[] = [];
  if (old !== now) {
    changes.push(refresh('FR-28', `SEQUENCE BY was ${old} and is ${now}.`));
  } else {
    changes.push(...sequenceTypeChanges(before, after, `SEQUENCE BY ${now}`));
    // Spelled alike, of values that are read or computed by other types below it.
    if (changes.length === 0 && was.sequenceValue !== is.sequenceValue) {
      changes.push(refresh('FR-28', `SEQUENCE BY ${now} is computed otherwise.`));
    }
  }
  if (changes.length === 0) {
    const otherwise = is.sequenceColumns.filter(
      (name) => !isKey(after, name) && isComputedOtherwise(before, after, name),
    );
    const text = (name: string): string =>
      `Column "${name}" of the sequence is computed otherwise.`;
    changes.push(...otherwise.map((name) => refresh('FR-28', text(name))));
  }
  return [...changes, ...distinctChanges(before, after)];
}

/** Of a change feed each branch has its own, over the columns of its source. */
function shownSequence({ kind, sequenceValue, sequenceColumns }: FlowDefinition): string {
  if (kind !== 'auto_cdc') return shownExpression(sequenceValue, sequenceColumns);
  return sequenceValue
    .split(' | ')
    .map((one) => shownExpression(one))
    .join(' | ');
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
  return [
    ...is.flatMap((branch, position) => branchChanges(was[position] ?? branch, branch)),
    ...sideChanges(before, after),
  ];
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
