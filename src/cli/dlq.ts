import { topicIdText } from '../data/provenance.ts';
import { readHeaders } from '../data/record-headers.ts';
import type { FlowPlan } from '../plan/pipeline-plan.ts';
import { tableOf } from '../plan/topology.ts';
import { isoTime } from '../runtime/inspect/iso-time.ts';
import { NamedLetters, placeText } from '../runtime/inspect/named-letters.ts';
import { type ReplayReport, replayDeadLetters } from '../runtime/inspect/replay-dead-letters.ts';
import { settledJudge } from '../runtime/inspect/settled-letters.ts';
import { noCatalog } from '../runtime/topics/catalog.ts';
import { type PlacedDeadLetter, readDeadLetters } from '../runtime/worker/dead-letters.ts';
import { type Command, type ExitCode, type Invocation, usageError } from './command.ts';
import { countText } from './count-text.ts';
import { type Deployment, withDeployment } from './deployment.ts';
import { namedFlow, outside, placeOf } from './outside.ts';
import { pipelineFlag } from './pipeline-files.ts';
import { tableText } from './table-text.ts';

const usage = 'Usage: tidemark dlq list|show|replay FLOW [TOPIC/PARTITION@OFFSET…]';

export const dlq: Command = {
  name: 'dlq',
  summary: 'list, show and replay the dead letters of a flow',
  arguments: 'list|show|replay FLOW [TOPIC/PARTITION@OFFSET…]',
  example:
    'tidemark dlq list bookings_current --pipeline bookings.sql --pipeline.name bookings --kafka.brokers localhost:9092',
  flags: {
    ...pipelineFlag,
    class: {
      type: 'string',
      multiple: true,
      value: 'CLASS',
      doc: 'Only letters of this error class. May be given several times.',
    },
    limit: {
      type: 'string',
      value: 'N',
      doc: 'show: at most so many, the last ones (default 20).',
    },
    'dry-run': {
      type: 'boolean',
      doc: 'replay: only tell what would become of each. With or without it, replay ends with 1 where a letter is still bad.',
    },
  },
  usesConfig: true,
  run: async (invocation) => {
    const [action = '', name, ...places] = invocation.positionals;
    if (name === undefined) throw usageError('an action and a flow are needed', usage);
    const named = new NamedLetters(places.map(placeOf));
    const isWanted = filterOf(invocation, named);
    return withDeployment(invocation, async (deployment) => {
      const flow = namedFlow(deployment.plan, name);
      const work: Work = { invocation, deployment, flow, isWanted, named };
      switch (action) {
        case 'list':
          return list(work);
        case 'show':
          return show(work);
        case 'replay':
          return replay(work);
        default:
          throw usageError(`there is no action "${action}"`, usage);
      }
    });
  },
};

type Work = {
  readonly invocation: Invocation;
  readonly deployment: Deployment;
  readonly flow: FlowPlan;
  readonly isWanted: (letter: PlacedDeadLetter) => boolean;
  readonly named: NamedLetters;
};

function filterOf(
  invocation: Invocation,
  named: NamedLetters,
): (letter: PlacedDeadLetter) => boolean {
  const classes = new Set(invocation.texts('class').map((one) => one.toUpperCase()));
  return (letter) =>
    (classes.size === 0 || classes.has(letter.errorClass.toUpperCase())) && named.isMeant(letter);
}

// ---------------------------------------------------------------- list

type Group = {
  readonly topic: string;
  readonly errorClass: string;
  letters: number;
  /** Those of them that are not settled. */
  open: number;
  firstAtMs: number;
  lastAtMs: number;
  last: string;
  message: string;
};

async function list({ invocation, deployment, flow, isWanted }: Work): Promise<ExitCode> {
  const { log, plan, pipeline, catalog = noCatalog } = deployment;
  const table = tableOf(plan, flow);
  const isSettled = await settledJudge({ log, catalog, pipeline, plan, flow });
  const groups = new Map<string, Group>();
  const places = new Map<string, Set<number>>();
  await readDeadLetters({ log, catalog, pipeline, table, flow: flow.name }, (letter) => {
    if (!isWanted(letter)) return;
    const { topic, topicId, partition, offset, errorClass, message } = letter;
    const source = `${topicId} ${partition}`;
    places.set(source, (places.get(source) ?? new Set()).add(offset));
    const { atMs } = letter.letter;
    const key = `${topic} ${errorClass}`;
    const group = groups.get(key) ?? {
      topic,
      errorClass,
      letters: 0,
      open: 0,
      firstAtMs: atMs,
      lastAtMs: 0,
      last: '',
      message: '',
    };
    groups.set(key, group);
    group.letters += 1;
    if (!isSettled(letter)) group.open += 1;
    group.firstAtMs = Math.min(group.firstAtMs, atMs);
    if (atMs < group.lastAtMs) return;
    group.lastAtMs = atMs;
    group.last = placeText(letter);
    group.message = message;
  });
  const found = [...groups.values()].sort((a, b) => b.letters - a.letters);
  const letters = found.reduce((sum, group) => sum + group.letters, 0);
  const open = found.reduce((sum, group) => sum + group.open, 0);
  // A record that was read again, by a rewind or a refresh in place, may have a letter of each time.
  const records = [...places.values()].reduce((sum, { size }) => sum + size, 0);
  if (invocation.json) {
    invocation.printJson({
      flow: flow.name,
      topic: table.deadLetterTopic,
      deadLetters: letters,
      open,
      settled: letters - open,
      records,
      groups: found.map(({ firstAtMs, lastAtMs, ...group }) => ({
        ...group,
        firstAt: isoTime(firstAtMs),
        lastAt: isoTime(lastAtMs),
      })),
    });
    return 0;
  }
  const { terminal } = invocation;
  if (letters > 0) {
    terminal.out(
      tableText(
        ['error class', 'source', 'letters', 'open', 'first', 'last', 'at', 'message'],
        found.map((group) => [
          group.errorClass,
          group.topic,
          String(group.letters),
          String(group.open),
          isoTime(group.firstAtMs),
          isoTime(group.lastAtMs),
          group.last,
          group.message,
        ]),
      ),
    );
  }
  terminal.out(
    `flow ${flow.name}, topic ${table.deadLetterTopic}: ${countText(letters, 'dead letter')}${records < letters ? ` of ${countText(records, 'record')}` : ''}${openText(letters, open)}\n`,
  );
  return 0;
}

/** A letter stays where it is: what became of it, by a replay or a refresh that could read its record, is told beside it. */
export function openText(letters: number, open: number): string {
  return open === letters ? '' : `, ${open} open, ${letters - open} settled`;
}

// ---------------------------------------------------------------- show

const showDefault = 20;

async function show(work: Work): Promise<ExitCode> {
  const { invocation, deployment, flow, isWanted, named } = work;
  const { log, plan, pipeline, catalog = noCatalog } = deployment;
  const limit = invocation.whole('limit', { min: 1, max: 1_000_000 }) ?? showDefault;
  const isSettled = await settledJudge({ log, catalog, pipeline, plan, flow });
  const last: PlacedDeadLetter[] = [];
  await readDeadLetters(
    { log, catalog, pipeline, table: tableOf(plan, flow), flow: flow.name },
    (letter) => {
      if (!isWanted(letter)) return;
      named.meet(letter);
      last.push(letter);
      last.sort((a, b) => a.letter.atMs - b.letter.atMs);
      if (last.length > limit) last.shift();
    },
  );
  named.refuseMissing(flow.name);
  const { terminal } = invocation;
  for (const letter of last) {
    if (invocation.json) terminal.out(`${JSON.stringify(letterJson(letter, isSettled(letter)))}\n`);
    else terminal.out(letterLines(letter, isSettled(letter)));
  }
  if (last.length === 0) terminal.err(`flow "${flow.name}" has no such dead letters\n`);
  return 0;
}

function letterJson(letter: PlacedDeadLetter, settled: boolean): unknown {
  const { topic, topicId, partition, offset, timestampMs, errorClass, message, key, value } =
    letter;
  return {
    topic,
    topicId: topicIdText(topicId),
    partition,
    offset,
    timestamp: isoTime(timestampMs),
    settled,
    errorClass,
    message,
    key: key?.toString('base64') ?? null,
    value: value?.toString('base64') ?? null,
    keyText: textOf(key),
    valueText: textOf(value),
    headers: headersOf(letter),
    letter: { ...letter.letter, atMs: undefined, at: isoTime(letter.letter.atMs) },
  };
}

/** null: it is no text, or there is none. */
function textOf(bytes: Buffer | null): string | null {
  if (bytes === null) return null;
  const text = bytes.toString('utf8');
  return Buffer.from(text, 'utf8').equals(bytes) ? text : null;
}

function headersOf({ headers }: PlacedDeadLetter): readonly unknown[] {
  return readHeaders(headers, 0, headers.length).map(({ key, value }) => ({
    key,
    value: value?.toString('base64') ?? null,
  }));
}

function letterLines(letter: PlacedDeadLetter, isSettled: boolean): string {
  const { errorClass, message, key, value } = letter;
  const shown = (bytes: Buffer | null): string =>
    bytes === null ? 'null' : (textOf(bytes) ?? `base64 ${bytes.toString('base64')}`);
  return [
    `${placeText(letter)}, set aside ${isoTime(letter.letter.atMs)}${isSettled ? ', settled' : ''}`,
    `  ${errorClass}: ${message}`,
    `  key ${shown(key)}`,
    `  value ${shown(value)}`,
    '',
  ].join('\n');
}

// ---------------------------------------------------------------- replay

async function replay(work: Work): Promise<ExitCode> {
  const { invocation, deployment, flow, isWanted, named } = work;
  const { terminal } = invocation;
  const isDryRun = invocation.isSet('dry-run');
  const bad: { readonly place: string; readonly error: string }[] = [];
  const report = await replayDeadLetters({
    ...outside('dlq', invocation, deployment),
    flow,
    isWanted,
    named,
    isDryRun,
    onBad: (letter, { errorClass, message }) => {
      if (bad.length < showDefault) {
        bad.push({ place: placeText(letter), error: `${errorClass}: ${message}` });
      }
    },
  });
  if (invocation.json) {
    invocation.printJson({ flow: flow.name, done: !isDryRun, ...report, bad });
  } else {
    for (const { place, error } of bad) terminal.err(`still bad: ${place}\n  ${error}\n`);
    terminal.out(replayText(flow, report, isDryRun));
  }
  return replayCode(report);
}

/** A script that replays has to see that letters are where they were. */
export function replayCode({ stillBad }: Pick<ReplayReport, 'stillBad'>): ExitCode {
  return stillBad > 0 ? 1 : 0;
}

/** What became of the letters, or would. */
export function replayText(flow: FlowPlan, report: ReplayReport, isDryRun: boolean): string {
  const { letters, replayed, rows, present, stillBad, unread, foreign } = report;
  const be = (number: number): string => (number === 1 ? 'is' : 'are');
  const parts = [
    isDryRun
      ? `${replayed} could be replayed`
      : `${replayed} ${replayed === 1 ? 'was' : 'were'} replayed`,
    ...(replayed > 0 ? [`${countText(rows, 'row')} ${isDryRun ? 'would go' : 'went'} on`] : []),
    ...(present > 0
      ? [`${countText(present, 'row')} ${be(present)} in the output already, or on the way there`]
      : []),
    ...(stillBad > 0 ? [`${stillBad} ${be(stillBad)} still bad`] : []),
    ...(unread > 0 ? [`${unread} ${be(unread)} yet to be read by the flow itself`] : []),
    ...(foreign > 0
      ? [`${foreign} ${be(foreign)} of a source that the flow does not read any more`]
      : []),
  ];
  // Rows of an append flow are in the output at once.
  const isMerged = flow.kind !== 'append' && rows > 0 && !isDryRun;
  const effect = isMerged
    ? 'the flow merges these rows when it runs: what the table has already, or has of a higher sequence, stays as it is\n'
    : '';
  const what = letters === 0 ? '' : `: ${parts.join(', ')}`;
  return `${countText(letters, 'dead letter')}${what}\n${effect}`;
}
