import { FlowError } from '../../base/errors.ts';
import { rowDecoder } from '../../data/row-decoder.ts';
import type { Column } from '../../data/types.ts';
import type { Row } from '../../data/value.ts';
import type { PipelinePlan, TablePlan } from '../../plan/pipeline-plan.ts';
import type { AccountOfFlow } from '../check/read-account.ts';
import { Random } from '../random.ts';
import type { StartPipeline } from './pipeline-runner.ts';
import { PipelineWorld } from './pipeline-world.ts';
import { TryInputReader } from './try-input.ts';

export type TryInput = {
  readonly topic: string;
  /** Named in messages. */
  readonly file: string;
  readonly text: string;
};

export type TryOptions = {
  readonly partitions: number;
  /** Set: the records of each topic arrive in a random order that it decides. */
  readonly shuffleSeed: number | undefined;
  readonly envelope: boolean;
};

export type TriedRow = {
  /** As it stands in the output topic, with every digit. */
  readonly json: string;
  readonly values: Row;
};

export type TriedTable = {
  readonly columns: readonly Column[];
  readonly rows: readonly TriedRow[];
};

export type TriedDeadLetter = {
  readonly partition: number;
  readonly offset: number;
  readonly key: string | null;
  readonly value: string | null;
  readonly headers: Readonly<Record<string, string>>;
};

export type TryResult = {
  readonly tables: ReadonlyMap<string, TriedTable>;
  readonly flows: ReadonlyMap<string, AccountOfFlow>;
  readonly deadLetters: readonly TriedDeadLetter[];
};

/**
 * Runs a pipeline over files of records in memory, to the end of them, and gives back its tables.
 * Invariant: it is the same runtime that serves a real log; only log, state store and clock differ.
 */
export async function tryPipeline(
  plan: PipelinePlan,
  inputs: readonly TryInput[],
  options: TryOptions,
  start: StartPipeline,
): Promise<TryResult> {
  const { partitions } = options;
  const world = new PipelineWorld({ plan, partitions, sliceRecordsMax: undefined, start });
  try {
    feed(world, inputs, options);
    const process = await world.startProcess('try');
    await world.untilCaughtUp(process);
    await world.stop(process);
    return await collect(world, plan);
  } finally {
    world.close();
  }
}

function feed(
  world: PipelineWorld,
  inputs: readonly TryInput[],
  { envelope, shuffleSeed, partitions }: TryOptions,
): void {
  const topics = world.sourceTopics();
  const random = shuffleSeed === undefined ? undefined : new Random(shuffleSeed);
  for (const { topic, file, text } of inputs) {
    if (!topics.includes(topic)) {
      throw new FlowError('USAGE', `no source of the pipeline reads topic "${topic}"`, {
        detail: `Its sources read: ${topics.join(', ')}.`,
      });
    }
    const records = new TryInputReader(file, envelope).read(text);
    for (const { record, partition } of random?.shuffled(records) ?? records) {
      if (partition !== undefined && (partition < 0 || partition >= partitions)) {
        throw new FlowError(
          'USAGE',
          `"${file}" names partition ${partition}, and each topic has ${partitions}`,
          { hint: `Give --partitions ${partition + 1} or more.` },
        );
      }
      world.produce(topic, record, partition);
    }
  }
}

/** Nobody declared it: what a join, DISTINCT or LIMIT keeps goes on to the table that was. */
function isBetweenStages({ name }: TablePlan, { flows }: PipelinePlan): boolean {
  return flows.some(({ target, kind }) => target === name && (kind === 'join' || kind === 'sift'));
}

async function collect(world: PipelineWorld, plan: PipelinePlan): Promise<TryResult> {
  const tables = new Map<string, TriedTable>();
  for (const table of plan.tables) {
    if (isBetweenStages(table, plan)) continue;
    const decode = rowDecoder(table.columns);
    const rows = world.rows(table).map(({ row }) => ({
      json: row.bytes.toString('utf8', row.start, row.end),
      values: decode(row),
    }));
    tables.set(table.name, { columns: table.columns, rows });
  }
  const flows = new Map<string, AccountOfFlow>();
  for (const flow of plan.flows) flows.set(flow.name, await world.account(flow));
  const deadLetters = world.deadLetters().map(({ partition, offset, key, value, headers }) => ({
    partition,
    offset,
    key: key?.toString('utf8') ?? null,
    value: value?.toString('utf8') ?? null,
    headers: Object.fromEntries(
      headers.map((header) => [header.key, header.value?.toString('utf8') ?? '']),
    ),
  }));
  return { tables, flows, deadLetters };
}
