import { FlowError } from '../../base/errors.ts';
import { formatFault } from '../../base/fault-text.ts';
import { nearestNames } from '../../base/nearest-name.ts';
import { rowDecoder } from '../../data/row-decoder.ts';
import { isOutside, type PipelinePlan, type SourcePlan } from '../../plan/pipeline-plan.ts';
import { type ParsedPipeline, planStatements } from '../../plan/plan-pipeline.ts';
import { Random } from '../random.ts';
import { PipelineWorld } from './pipeline-world.ts';
import { plainValue, recordJson } from './plain-value.ts';
import { pipelineStarter } from './start-pipeline.ts';

/** What says of itself which rows it has, for the compiler alone. */
type Shaped<Row> = { readonly name: string; readonly shape: Row | undefined };

/** A number may be given in either form: what counts is how it is written into the record. */
type Given<Value> = Value extends bigint | `${number}` ? bigint | number | string : Value;

type GivenRecord<Row> = { readonly [Name in keyof Row]?: Given<Row[Name]> };

export type PipelineTestOptions = {
  /** Of each topic; default 2. */
  readonly partitions?: number;
  /** Most records of a batch; default: no bound. */
  readonly batchRecordsMax?: number;
};

export type RunOptions = {
  /** Processes die and state is lost on the way, as this seed has it; the rows at the end must not depend on it. */
  readonly faults?: number;
};

export type ExpectationCounts = { readonly passed: number; readonly failed: number };

/** Misfortunes of one run with faults. */
const misfortunes = 8;
/** Of virtual time: about what a commit takes. */
const pauseMsMax = 40;

/**
 * A pipeline under test: given records, when it is run, then its rows. Invariant: log, state and clock are its own and in
 * memory, and the runtime is the one that serves a real log; the same calls give the same run.
 */
export class PipelineTest {
  readonly #plan: PipelinePlan;
  readonly #world: PipelineWorld;

  constructor(plan: PipelinePlan, options: PipelineTestOptions = {}) {
    this.#plan = plan;
    this.#world = new PipelineWorld({
      plan,
      partitions: options.partitions ?? 2,
      sliceRecordsMax: options.batchRecordsMax,
      start: pipelineStarter({ retriesMax: 50 }),
    });
  }

  /**
   * Records that a producer sends: objects with the columns of the source, or the text of a record as it is. `keys` are
   * those of the records, where they have any.
   */
  given<Row>(
    source: Shaped<Row>,
    records: readonly (GivenRecord<Row> | string | null)[],
    options?: { readonly keys?: readonly string[] },
  ): this;
  given(
    source: string,
    records: readonly (Readonly<Record<string, unknown>> | string | null)[],
    options?: { readonly keys?: readonly string[] },
  ): this;
  given(
    source: { readonly name: string } | string,
    records: readonly (Readonly<Record<string, unknown>> | string | null)[],
    options: { readonly keys?: readonly string[] } = {},
  ): this {
    const { name, topic, columns } = this.#source(
      typeof source === 'string' ? source : source.name,
    );
    const type = { kind: 'struct', fields: columns } as const;
    for (const record of records) refuseUnknownColumn(name, columns, record);
    for (const [index, record] of records.entries()) {
      const value =
        typeof record === 'string' || record === null ? record : recordJson(type, record);
      const key = options.keys?.[index];
      this.#world.produce(topic, { value, ...(key === undefined ? {} : { key }) });
    }
    return this;
  }

  /** One update: everything that was given is processed when it resolves. Rejects with the error of a flow that fails. */
  async run({ faults }: RunOptions = {}): Promise<this> {
    if (faults !== undefined) await this.#suffer(new Random(faults));
    const process = await this.#world.startProcess('test');
    try {
      await this.#world.untilCaughtUp(process);
    } catch (error) {
      // Flows that still go on end with the run. What it tells of them is less than what ended it.
      await this.#world.stop(process).catch(() => undefined);
      throw error;
    }
    await this.#world.stop(process);
    return this;
  }

  /** The rows of a table, view or sink as a reader has them now, in no particular order. */
  rows<Row>(table: Shaped<Row>): Row[];
  rows(table: { readonly name: string } | string): Record<string, unknown>[];
  rows(table: { readonly name: string } | string): unknown[] {
    const name = typeof table === 'string' ? table : table.name;
    const plan = this.#world.table(name);
    if (plan === undefined) throw unknown('table', name, this.#plan.tables);
    const decode = rowDecoder(plan.columns);
    return this.#world.rows(plan).map(({ row }) => {
      const values = decode(row);
      return Object.fromEntries(
        plan.columns.map((column, at) => [
          column.name,
          plainValue(column.type, values[at] ?? null),
        ]),
      );
    });
  }

  /** What the expectations of a flow have counted since its first start. */
  async expectations(flow: string): Promise<Readonly<Record<string, ExpectationCounts>>> {
    const plan = this.#plan.flows.find(({ name }) => name.toLowerCase() === flow.toLowerCase());
    if (plan === undefined) throw unknown('flow', flow, this.#plan.flows);
    const { source } = await this.#world.account(plan);
    return Object.fromEntries(
      source.expectations.map(({ name, passed, failed }) => [name, { passed, failed }]),
    );
  }

  /** The values of the records that went to dead-letter topics. */
  deadLetters(): readonly (string | null)[] {
    return this.#world.deadLetters().map(({ value }) => value?.toString('utf8') ?? null);
  }

  /** Ends its time; nothing of it goes on. */
  close(): void {
    this.#world.close();
  }

  /** Each process that dies is followed by the next one of its name, as a supervisor would start it. */
  async #suffer(random: Random): Promise<void> {
    for (let turn = 0; turn < misfortunes; turn += 1) {
      const process = await this.#world.startProcess('test');
      await this.#world.clock.sleep(random.below(pauseMsMax));
      if (random.chance(300)) this.#world.state.flush();
      await this.#world.clock.sleep(random.below(pauseMsMax));
      this.#world.kill(process);
    }
  }

  #source(name: string): SourcePlan {
    const own = this.#plan.sources.filter(isOutside);
    const found = own.find((source) => source.name.toLowerCase() === name.toLowerCase());
    if (found === undefined) throw unknown('source', name, own);
    return found;
  }
}

/** A column that nothing reads is a slip of the test, which would go on with NULLs; a text may hold whatever a producer sends. */
function refuseUnknownColumn(
  source: string,
  columns: SourcePlan['columns'],
  record: Readonly<Record<string, unknown>> | string | null,
): void {
  if (typeof record === 'string' || record === null) return;
  const names = columns.map(({ name }) => name);
  const known = new Set(names.map((name) => name.toLowerCase()));
  const wrong = Object.keys(record).find((name) => !known.has(name.toLowerCase()));
  if (wrong === undefined) return;
  const [nearest] = nearestNames(wrong, names);
  throw new FlowError('USAGE', `source "${source}" has no column "${wrong}"`, {
    detail: `Its columns are ${names.join(', ')}.`,
    hint: `${nearest === undefined ? '' : `Did you mean "${nearest}"? `}A record with other members is given as a text.`,
  });
}

function unknown(noun: string, name: string, known: readonly { readonly name: string }[]) {
  const names = known.map((one) => `"${one.name}"`).join(', ');
  return new FlowError('USAGE', `the pipeline has no ${noun} "${name}"`, {
    detail: `It has ${names === '' ? 'none' : names}.`,
  });
}

/** A test of a pipeline that is written in TypeScript; throws where the pipeline is invalid, with every fault. */
export function testPipeline(
  pipeline: { definition(): ParsedPipeline },
  options: PipelineTestOptions = {},
): PipelineTest {
  const parsed = pipeline.definition();
  const { plan, faults } = planStatements(parsed);
  if (plan !== undefined) return new PipelineTest(plan, options);
  const texts = new Map(parsed.files.map(({ file, text }) => [file, text]));
  const told = faults.map((fault) => formatFault(fault, texts.get(fault.place.file) ?? ''));
  // A test runner shows the message alone.
  throw new FlowError('PIPELINE_INVALID', `the pipeline is invalid:\n${told.join('\n')}`);
}
