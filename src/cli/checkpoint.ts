import { FlowError } from '../base/errors.ts';
import { topicIdText } from '../data/provenance.ts';
import { type FlowPlan, isKeyed, staticSources } from '../plan/pipeline-plan.ts';
import { groupOf } from '../plan/topology.ts';
import {
  type CheckpointMove,
  decideMoves,
  type MoveTarget,
  type MoveTotals,
  moveTotals,
} from '../refresh/checkpoint-move.ts';
import { carryCheckpoint, previewCarry } from '../runtime/refresh/refresh-carry.ts';
import {
  applyMoves,
  type KnownCheckpoint,
  type OutsideOptions,
  readCheckpoints,
  whileNobodyReads,
} from '../runtime/refresh/refresh-checkpoints.ts';
import { previewSkip, skipRecord } from '../runtime/refresh/refresh-skip.ts';
import { type SkippedRecord, skipsOf } from '../runtime/takeover/skips.ts';
import { type Command, type ExitCode, type Invocation, usageError } from './command.ts';
import { countText } from './count-text.ts';
import { type Deployment, withDeployment } from './deployment.ts';
import { namedFlow, outside, placeOf } from './outside.ts';
import { pipelineFlag } from './pipeline-files.ts';
import { tableText } from './table-text.ts';

const usage =
  'Usage: tidemark checkpoint show FLOW | reset FLOW [--to …] | rewind FLOW --to … | carry OLD NEW | skip FLOW TOPIC/PARTITION@OFFSET';

export const checkpoint: Command = {
  name: 'checkpoint',
  summary:
    'show checkpoints, and set them, with the service running or not; the rows of the table stay',
  arguments: 'show|reset|rewind|carry|skip FLOW [NEW|TOPIC/PARTITION@OFFSET]',
  example:
    'tidemark checkpoint rewind bookings_current --to 2026-11-30T08:00:00Z --dry-run --pipeline bookings.sql --pipeline.name bookings --kafka.brokers localhost:9092',
  flags: {
    ...pipelineFlag,
    to: {
      type: 'string',
      value: 'earliest|latest|OFFSETS|TIME',
      doc: 'Where to: OFFSETS is one number for all, or TOPIC/PARTITION@OFFSET,…; TIME is ISO 8601. reset: earliest by default.',
    },
    'dry-run': {
      type: 'boolean',
      doc: 'Only tell what would be set, read again, carried or skipped; nothing is done.',
    },
    'allow-loss': {
      type: 'boolean',
      doc: 'Accept that records which are there are never read; with skip also one that the flow did not stop at.',
    },
    yes: {
      type: 'boolean',
      doc: 'Accept that an append flow writes the rows of records that it reads again once more.',
    },
  },
  usesConfig: true,
  run: async (invocation) => {
    const [verb = '', name, argument, extra] = invocation.positionals;
    const isBinary = verb === 'carry' || verb === 'skip';
    if (name === undefined || extra !== undefined || (argument !== undefined) !== isBinary) {
      throw usageError('an action and what it is about are needed', usage);
    }
    switch (verb) {
      case 'show':
        return withDeployment(invocation, (deployment) => show(invocation, deployment, name));
      case 'reset':
      case 'rewind':
        return withDeployment(invocation, (deployment) =>
          move(invocation, deployment, { name, isRewind: verb === 'rewind' }),
        );
      case 'carry':
        return withDeployment(invocation, (deployment) =>
          carry(invocation, deployment, name, argument ?? ''),
        );
      case 'skip':
        return withDeployment(invocation, (deployment) =>
          skip(invocation, deployment, name, argument ?? ''),
        );
      default:
        throw usageError(`there is no action "${verb}"`, usage);
    }
  },
};

// ---------------------------------------------------------------- show

async function show(
  invocation: Invocation,
  deployment: Deployment,
  name: string,
): Promise<ExitCode> {
  const flow = namedFlow(deployment.plan, name);
  const options = outside('checkpoint', invocation, deployment);
  const rows = await readCheckpoints(options, flow);
  const skipped = skipsOf(options.catalog, flow.name);
  const group = groupOf(options.pipeline, flow.name);
  const members = await options.log.groupMembers(group);
  const { terminal } = invocation;
  if (invocation.json) {
    invocation.printJson({
      flow: flow.name,
      group,
      members,
      partitions: rows.map(rowJson),
      skipped: skipped.map(skipJson),
    });
    return 0;
  }
  terminal.out(`flow ${flow.name}, group ${group}, members: ${members.length}\n`);
  terminal.out(
    tableText(
      ['stage', 'topic', 'partition', 'checkpoint', 'log start', 'end', 'state'],
      rows.map((row) => [
        row.stage,
        row.topic,
        String(row.partition),
        row.committed === undefined ? '-' : String(row.committed),
        String(row.start),
        String(row.end),
        stateOf(row),
      ]),
    ),
  );
  for (const { topic, partition, offset, atMs } of skipped) {
    terminal.out(
      `skipped ${topic}/${partition}@${offset} on ${new Date(atMs).toISOString()}; --json shows its bytes\n`,
    );
  }
  return 0;
}

function stateOf({ committed, isDamaged, checkpointTopicId, topicId, start }: KnownCheckpoint) {
  if (checkpointTopicId !== undefined && checkpointTopicId !== topicId)
    return 'topic was recreated';
  if (committed === undefined) return checkpointTopicId === undefined ? 'not started' : 'lost';
  if (isDamaged) return 'damaged metadata';
  return committed < start ? 'expired' : 'good';
}

function rowJson(row: KnownCheckpoint): unknown {
  const { stage, topic, partition, committed, start, end, topicId, metadata } = row;
  return {
    stage,
    topic,
    partition,
    committed: committed ?? null,
    logStart: start,
    end,
    topicId: topicIdText(topicId),
    checkpointTopicId: row.checkpointTopicId ?? null,
    state: stateOf(row),
    metadata: metadata ?? null,
  };
}

function skipJson({ topic, partition, offset, atMs, key, value }: SkippedRecord): unknown {
  return { topic, partition, offset, at: new Date(atMs).toISOString(), key, value };
}

// ---------------------------------------------------------------- reset and rewind

async function move(
  invocation: Invocation,
  deployment: Deployment,
  { name, isRewind }: { readonly name: string; readonly isRewind: boolean },
): Promise<ExitCode> {
  const flow = namedFlow(deployment.plan, name);
  const to = invocation.text('to') ?? (isRewind ? undefined : 'earliest');
  if (to === undefined) throw usageError('rewind needs --to', 'Name earliest, offsets or a time.');
  const options = outside('checkpoint', invocation, deployment);
  const decide = async () => {
    const rows = await readCheckpoints(options, flow);
    const moves = decideMoves(rows, await targetOf(to, options, rows));
    return { rows, moves, totals: moveTotals(moves) };
  };
  if (invocation.isSet('dry-run')) {
    const { moves, totals } = await decide();
    tell(invocation, flow, { moves, totals, isDone: false });
    return 0;
  }
  return whileNobodyReads<ExitCode>(options, [flow.name], async () => {
    const { rows, moves, totals } = await decide();
    refuse(invocation, flow, { totals, isRewind });
    await applyMoves(options, flow, moves, rows);
    tell(invocation, flow, { moves, totals, isDone: true });
    return 0;
  });
}

function refuse(
  invocation: Invocation,
  flow: FlowPlan,
  { totals, isRewind }: { readonly totals: MoveTotals; readonly isRewind: boolean },
): void {
  if (isRewind && totals.skipped > 0) {
    throw usageError(
      `a rewind goes back, and ${totals.skipped} records would be skipped`,
      'To go forward, use: tidemark checkpoint reset … --allow-loss',
    );
  }
  if (totals.skipped > 0 && !invocation.isSet('allow-loss')) {
    throw new FlowError(
      'DATA_LOSS_REFUSED',
      `${totals.skipped} records that are there would never be read`,
      { hint: 'Accept it with --allow-loss; --dry-run shows the partitions.' },
    );
  }
  if (appendsAgain(flow) && totals.again > 0 && !invocation.isSet('yes')) {
    throw usageError(
      `flow "${flow.name}" appends, and would write the rows of up to ${totals.again} records once more`,
      'Accept the duplicates with --yes.',
    );
  }
  if (joinsAnew(flow) && totals.again > 0 && !invocation.isSet('yes')) {
    throw usageError(
      `flow "${flow.name}" joins data that is looked up, and would join ${totals.again} records to it as it is now`,
      `A row whose partner has gone since would stay beside the new ones. Accept that with --yes; or compute the table anew: tidemark refresh ${flow.target}`,
    );
  }
}

/** Rows are known by their place among the partners of their record, which may be others by now. */
function joinsAnew(flow: FlowPlan): boolean {
  return isKeyed(flow) && flow.branches.some(({ steps }) => staticSources(steps).length > 0);
}

/** DISTINCT and LIMIT remember what they have let through. */
function appendsAgain(flow: FlowPlan): boolean {
  return !isKeyed(flow) && flow.kind !== 'sift';
}

async function targetOf(
  text: string,
  { log }: OutsideOptions,
  rows: readonly KnownCheckpoint[],
): Promise<MoveTarget> {
  if (text === 'earliest' || text === 'latest') return { to: text };
  if (/^\d+$/.test(text)) return { to: 'offset', offset: Number(text) };
  if (text.includes('@')) {
    const offsets = text.split(',').map((part) => {
      const { topic, partition, offset } = placeOf(part.trim());
      return [`${topic}/${partition}`, offset] as const;
    });
    return { to: 'offsets', offsets: new Map(offsets) };
  }
  const ms = /^\d{4}-\d\d-\d\d/.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(ms)) {
    throw usageError(
      `"${text}" is no place in the log`,
      'Write earliest, latest, an offset, TOPIC/PARTITION@OFFSET,… or a time such as 2026-11-30T08:00:00Z.',
    );
  }
  const offsets = new Map<string, number>();
  for (const topic of new Set(rows.filter(isSource).map((row) => row.topic))) {
    const partitions = rows.filter((row) => row.topic === topic).map(({ partition }) => partition);
    for (const [partition, offset] of await log.offsetsAt(topic, partitions, ms)) {
      offsets.set(`${topic}/${partition}`, offset);
    }
  }
  return { to: 'time', offsets };
}

function isSource({ stage }: KnownCheckpoint): boolean {
  return stage === 'source';
}

function tell(
  invocation: Invocation,
  flow: FlowPlan,
  told: {
    readonly moves: readonly CheckpointMove[];
    readonly totals: MoveTotals;
    readonly isDone: boolean;
  },
): void {
  const { moves, totals, isDone } = told;
  if (invocation.json) {
    invocation.printJson({
      flow: flow.name,
      done: isDone,
      ...totals,
      partitions: moves.map(({ from, ...rest }) => ({ ...rest, from: from ?? null })),
    });
    return;
  }
  const { terminal } = invocation;
  if (moves.length === 0) {
    terminal.out('every checkpoint stands there already\n');
    return;
  }
  terminal.out(
    tableText(
      ['topic', 'partition', 'from', 'to', 'read again', 'skipped', ''],
      moves.map(({ topic, partition, from, offset, again, skipped, isRepaired }) => [
        topic,
        String(partition),
        from === undefined ? '-' : String(from),
        String(offset),
        String(again),
        String(skipped),
        isRepaired ? 'metadata repaired' : '',
      ]),
    ),
  );
  const effect = effectOf(flow);
  const did = isDone ? 'set' : 'would be set';
  terminal.out(
    `checkpoints ${did}: ${moves.length}; records read again: ${totals.again}${totals.again > 0 ? ` (${effect})` : ''}; records skipped: ${totals.skipped}\n`,
  );
}

function effectOf(flow: FlowPlan): string {
  if (appendsAgain(flow)) return 'their rows are appended once more';
  if (joinsAnew(flow)) {
    return 'they are joined to what is looked up as it is now; rows whose partners are gone stay until a refresh';
  }
  return 'the table stays exact: a row is the same row however often it is read';
}

// ---------------------------------------------------------------- carry and skip

async function carry(
  invocation: Invocation,
  deployment: Deployment,
  before: string,
  after: string,
): Promise<ExitCode> {
  const flow = namedFlow(deployment.plan, after);
  const isDryRun = invocation.isSet('dry-run');
  const options = outside('checkpoint', invocation, deployment);
  const moved = await (isDryRun ? previewCarry : carryCheckpoint)(options, before, flow);
  if (invocation.json) {
    const partitions = moved.map(rowJson);
    invocation.printJson({ from: before, to: flow.name, done: !isDryRun, partitions });
  } else {
    const goesOn = isDryRun ? 'would go on' : 'goes on';
    invocation.terminal.out(
      `flow ${flow.name} ${goesOn} from the checkpoint of flow ${before}: ${countText(moved.length, 'partition')}\n`,
    );
  }
  return 0;
}

async function skip(
  invocation: Invocation,
  deployment: Deployment,
  name: string,
  place: string,
): Promise<ExitCode> {
  const flow = namedFlow(deployment.plan, name);
  const isDryRun = invocation.isSet('dry-run');
  const options = outside('checkpoint', invocation, deployment);
  const allowLoss = invocation.isSet('allow-loss');
  const skipped = isDryRun
    ? await previewSkip(options, flow, placeOf(place))
    : await skipRecord({ ...options, allowLoss }, flow, placeOf(place));
  if (invocation.json) {
    const record = skipJson(skipped) as object;
    invocation.printJson({ flow: flow.name, done: !isDryRun, ...record });
  } else {
    invocation.terminal.out(
      isDryRun
        ? `flow ${flow.name} would step over ${place}\n`
        : `flow ${flow.name} steps over ${place}; its bytes are in the catalog: tidemark checkpoint show ${flow.name} --json\nAn instance that runs takes it up when it starts again.\n`,
    );
  }
  return 0;
}
