import { FlowError } from '../../base/errors.ts';
import { ByteWriter } from '../../data/byte-writer.ts';
import { rowEncoder } from '../../data/json-encode.ts';
import type { Row } from '../../data/value.ts';
import { hiddenColumns } from '../../plan/pipeline-plan.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Log, LogProducer } from '../../ports/log.ts';
import { emptyOutgoingRecord } from '../../task/output/outgoing-record.ts';
import { batchRows } from '../../task/view-query.ts';
import type { ComputedSource, FlowFacts } from '../inspect/flow-facts.ts';
import type { RuntimeListener } from '../runtime-events.ts';
import { generationOf } from '../takeover/generation.ts';
import { type Catalog, catalogRecord } from '../topics/catalog.ts';
import { forgetWriter, nameWriter } from '../topics/named-writers.ts';
import { readPins, tellHeld } from './once-pins.ts';
import { readInputRows } from './read-input-rows.ts';

export type OnceResultOptions = {
  readonly facts: FlowFacts;
  readonly log: Log;
  readonly catalog: Catalog;
  readonly clock: Clock;
  readonly listener: RuntimeListener;
  /** Whether somebody asked for the end meanwhile. */
  readonly isStopped: () => boolean;
};

/** Where the rows of the result begin that stands, as `ends` is. */
type OnceStarts = Readonly<Record<string, readonly number[]>>;

/** How long another instance that computes the same result is waited for before it is taken for dead. */
const patienceMs = 60_000;
const lookMs = 200;
const pendingBytesMax = 8 * 1024 * 1024;

/**
 * Computes the batch query of a once flow and writes its rows to the flow's result topic, where the flow reads them like
 * any source. Invariant: rows and pin are one transaction of the one producer that has the flow's name, so that of whoever
 * computes one result stands, and none is computed again in the generation; a row is known by its place in it.
 */
export async function computeOnce(options: OnceResultOptions): Promise<void> {
  const { facts, catalog } = options;
  const { flow, computed } = facts;
  if (computed === undefined) return;
  if (readPins(flow, catalog) === undefined) await computeFirst(options, computed);
  await forgetWriter(catalog, writerIdOf(facts), options.clock.now());
  await clearFormer(options, computed);
}

function writerIdOf({ group }: FlowFacts): string {
  return `${group}.result`;
}

async function computeFirst(options: OnceResultOptions, computed: ComputedSource): Promise<void> {
  const { facts, catalog, clock, log } = options;
  const { flow } = facts;
  const writerId = writerIdOf(facts);
  const deadline = clock.monotonic() + patienceMs;
  for (;;) {
    await nameWriter(catalog, writerId, clock.now());
    // From here on whoever was at it before cannot commit any more.
    const producer = await log.openProducer(writerId);
    try {
      await catalog.read();
      if (readPins(flow, catalog) === undefined) await writeResult(options, computed, producer);
      await catalog.read();
      return;
    } catch (error) {
      if (!(error instanceof FlowError) || error.code !== 'PRODUCER_FENCED') throw error;
      await awaitOther(options, deadline);
    } finally {
      await producer.close().catch(() => undefined);
    }
  }
}

/** Somebody else computes it: usually its result stands soon. */
async function awaitOther(
  { facts: { flow }, catalog, clock, isStopped }: OnceResultOptions,
  deadline: number,
): Promise<void> {
  while (clock.monotonic() < deadline) {
    await catalog.read();
    if (readPins(flow, catalog) !== undefined) return;
    if (isStopped()) throw stoppedWhile(`another instance computed once flow "${flow.name}"`);
    await clock.sleep(lookMs);
  }
}

async function writeResult(
  options: OnceResultOptions,
  computed: ComputedSource,
  producer: LogProducer,
): Promise<void> {
  const { facts, log, catalog, clock } = options;
  const { source } = computed;
  const { name } = facts.flow;
  const base = (await log.offsetRanges(source.topic, [0])).get(0)?.end ?? 0;
  const rows = await resultRows(options, computed);
  const encode = rowEncoder(source.columns.slice(0, -hiddenColumns.length));
  const value = new ByteWriter(4 * 1024);
  const record = emptyOutgoingRecord();
  record.timestampMs = clock.now();
  record.keyEnd = -1;
  for (const row of rows) {
    value.reset();
    encode(row, value);
    record.value = value.buffer;
    record.valueEnd = value.length;
    producer.append(source.topic, 0, record);
    if (producer.pendingBytes > pendingBytesMax) await producer.drain(pendingBytesMax);
  }
  const pins = {
    generation: generationOf(catalog, name),
    starts: { [source.topic]: [base] },
    ends: { [source.topic]: [base + rows.length] },
  };
  const entry = { kind: 'once' as const, name, value: pins };
  producer.append(catalog.topic, 0, catalogRecord(entry, clock.now()));
  await producer.commit([]);
}

/**
 * What a former generation has left there, or an attempt that died, is no row of this one. Taken away once a result stands,
 * and up to where that says: nothing fences a deletion, and whoever was overtaken would take the other's rows away
 * (simulation seed 612994 of computed_once).
 */
async function clearFormer(
  { facts, log, catalog }: OnceResultOptions,
  { source: { topic } }: ComputedSource,
): Promise<void> {
  const { name } = facts.flow;
  const pins = readPins(facts.flow, catalog);
  if (pins === undefined || pins.isDone) return;
  const starts = catalog.get('once', name)?.value['starts'] as OnceStarts | undefined;
  const start = starts?.[topic]?.[0] ?? 0;
  const range = (await log.offsetRanges(topic, [0])).get(0);
  if (range === undefined || range.start >= start || range.end < start) return;
  await log.deleteRecords(topic, new Map([[0, start]]));
}

/** What a start that was told to end says of the wait that it was in: nothing was written, and the next one goes on. */
export function stoppedWhile(what: string): FlowError {
  return new FlowError('BROKER_TIMEOUT', `stopped while ${what}`);
}

/** Until no transaction that is open now holds back what stands in a source. */
async function settledSource(
  { log, clock, listener, facts, isStopped }: OnceResultOptions,
  topic: string,
  partitions: number,
): Promise<void> {
  const numbers = Array.from({ length: partitions }, (_, partition) => partition);
  let ranges = await log.offsetRanges(topic, numbers);
  const ends = new Map([...ranges].map(([partition, { end }]) => [partition, end]));
  tellHeld(listener, { flow: facts.flow.name, topic, isAwaited: true }, ranges);
  while ([...ranges].some(([partition, { stable }]) => stable < (ends.get(partition) ?? 0))) {
    if (isStopped()) throw stoppedWhile(`topic "${topic}" had a transaction open`);
    await clock.sleep(lookMs);
    ranges = await log.offsetRanges(topic, numbers);
  }
}

async function resultRows(
  options: OnceResultOptions,
  { source, inputs }: ComputedSource,
): Promise<readonly Row[]> {
  const { facts, log, clock } = options;
  const { timeZone } = facts;
  const { batch } = source;
  if (batch === undefined) return [];
  const rows = new Map<string, readonly Row[]>();
  // As wide as they are by now: after a full refresh that is long after the start.
  const topics = await log.describeTopics(inputs.map(({ topic }) => topic));
  for (const input of inputs) {
    const partitions = topics.get(input.topic)?.partitions ?? 0;
    await settledSource(options, input.topic, partitions);
    rows.set(input.name, await readInputRows(log, { ...input, partitions }, timeZone));
  }
  const settings = {
    timeZone,
    nowMicros: BigInt(Math.floor(clock.now())) * 1_000n,
    rowsOf: (name: string) => rows.get(name) ?? [],
  };
  return batchRows(batch.query, settings, {
    message: `the query of once flow "${facts.flow.name}" cannot be computed`,
    effect: 'Nothing of it was written.',
  });
}
