import type { FlowPlan } from '../../plan/pipeline-plan.ts';
import type { Log, OffsetRange } from '../../ports/log.ts';
import type { OncePins } from '../inspect/flow-facts.ts';
import type { RuntimeListener } from '../runtime-events.ts';
import { generationOf } from '../takeover/generation.ts';
import type { Catalog, KnownCatalog } from '../topics/catalog.ts';
import { writtenAt } from './standing-pins.ts';

type PinOptions = {
  readonly flow: FlowPlan;
  readonly topics: readonly { readonly topic: string; readonly partitions: number }[];
  readonly log: Log;
  readonly catalog: Catalog;
  readonly nowMs: number;
  readonly listener: RuntimeListener;
};

/**
 * The pins of a flow, written to the catalog where there are none. A full refresh of its target has the flow run
 * again: pins are those of a generation. Invariant: from the first start on they stay the same, whoever reads them.
 */
export async function pinOnce(options: PinOptions): Promise<OncePins> {
  const { flow, topics, log, catalog, nowMs, listener } = options;
  const known = readPins(flow, catalog);
  if (known !== undefined) return known;
  const ends: Record<string, number[]> = {};
  for (const { topic, partitions } of topics) {
    const numbers = Array.from({ length: partitions }, (_, partition) => partition);
    const ranges = await log.offsetRanges(topic, numbers);
    // Behind the open transaction of a producer stand records that are committed: they are waited for.
    ends[topic] = numbers.map((partition) => ranges.get(partition)?.end ?? 0);
    tellHeld(listener, { flow: flow.name, topic, isAwaited: true }, ranges);
  }
  const generation = generationOf(catalog, flow.name);
  const entry = { kind: 'once' as const, name: flow.name };
  const end = await catalog.write([{ ...entry, value: { generation, ends } }], nowMs);
  // Another instance may have started at the same moment: what stands in the catalog holds for both.
  await catalog.read();
  const standing = catalog.get(entry.kind, entry.name);
  if (standing !== undefined && standing.offset < end - 1) {
    // Compaction would keep what was written last, and that does not hold.
    const value = { ...standing.value, since: writtenAt(standing) };
    await catalog.write([{ ...entry, value }], nowMs);
  }
  return readPins(flow, catalog) ?? { isDone: false, ends: new Map(Object.entries(ends)) };
}

/** Tells of each partition of a source that an open transaction holds back. */
export function tellHeld(
  listener: RuntimeListener,
  source: { readonly flow: string; readonly topic: string; readonly isAwaited: boolean },
  ranges: ReadonlyMap<number, OffsetRange>,
): void {
  for (const [partition, { stable: offset, end }] of ranges) {
    if (end <= offset) continue;
    listener({ event: 'source_held', ...source, partition, offset, held: end - offset });
  }
}

/** What the catalog has for the present generation of a flow; undefined: it goes on for ever, or did not start yet. */
export function readPins(flow: FlowPlan, catalog: KnownCatalog | undefined): OncePins | undefined {
  const value = catalog?.get('once', flow.name)?.value;
  if (value === undefined || value['generation'] !== generationOf(catalog, flow.name)) {
    return undefined;
  }
  const ends = value['ends'] as Readonly<Record<string, readonly number[]>>;
  return { isDone: value['isDone'] === true, ends: new Map(Object.entries(ends)) };
}

/** Remembers for good that everything up to the pins is committed. */
export async function recordOnceDone(catalog: Catalog, flow: string, nowMs: number): Promise<void> {
  const standing = catalog.get('once', flow);
  if (standing === undefined || standing.value['isDone'] === true) return;
  const value = { ...standing.value, since: writtenAt(standing), isDone: true };
  await catalog.write([{ kind: 'once', name: flow, value }], nowMs);
}

/** The end of one partition; undefined: the flow goes on for ever. A partition that came later has nothing for it. */
export function onceEnd(
  pins: OncePins | undefined,
  topic: string,
  partition: number,
): number | undefined {
  const ends = pins?.ends.get(topic);
  return ends === undefined ? undefined : (ends[partition] ?? 0);
}
