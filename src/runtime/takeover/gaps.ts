import { FlowError } from '../../base/errors.ts';
import type { LogPlace } from '../../base/log-place.ts';
import {
  type CheckpointDecision,
  type CheckpointFacts,
  decideCheckpoint,
  type Gap,
  gapText,
} from '../../refresh/continuity.ts';
import type { TopicFacts } from '../inspect/flow-facts.ts';
import { numbersTo } from '../refresh/refresh-facts.ts';
import type { Catalog } from '../topics/catalog.ts';
import type { LogStarts, MovedStart } from './log-starts.ts';

/** A gap as the catalog keeps it, for ever: who lost what, and whether somebody took it into account. */
export type RecordedGap = Gap & {
  readonly detectedAtMs: number;
  readonly acceptedAtMs: number | undefined;
  /** When the flow committed for the first time after it was accepted: from then on it covers nothing any more. */
  readonly usedAtMs: number | undefined;
  /** When a full refresh began the table anew from what was there: nobody stands at it any more. */
  readonly refreshedAtMs: number | undefined;
};

/**
 * Whether a flow may go on, with the gaps that were accepted taken into account. Each of them covers what was gone when it
 * was found, and no more: what goes while the flow still stands there is a gap of its own, from where that one ends.
 */
export function decideWithAccepted(catalog: Catalog, found: CheckpointFacts): CheckpointDecision {
  const facts = {
    ...found,
    clusterId: found.clusterId ?? clusterOf(catalog, found.topicId),
    checkpointClusterId: clusterOf(catalog, found.checkpointTopicId),
  };
  let decided = unused(catalog, decideCheckpoint(facts));
  while (decided.decision === 'gap') {
    const { gap } = decided;
    const known = catalog.get('gap', gap.id)?.value;
    if (known?.['acceptedAtMs'] === undefined) return decided;
    const to = known['to'];
    if (typeof to !== 'number' || to >= gap.to) return { decision: 'go_on', position: gap.to };
    const further = decideCheckpoint({
      ...facts,
      committed: to,
      checkpointTopicId: facts.topicId,
      ...(facts.generation === undefined ? {} : { checkpointGeneration: facts.generation }),
    });
    decided = unused(catalog, further);
  }
  return decided;
}

/** Where a source topic was when it was read; undefined: it never was, or nobody knows. */
function clusterOf(catalog: Catalog, topicId: string | undefined): string | undefined {
  const known = topicId && catalog.get('source', topicId)?.value['clusterId'];
  return typeof known === 'string' ? known : undefined;
}

/** The same loss may come again, as when a group is deleted twice: it has an id of its own then, which nobody has accepted. */
function unused(catalog: Catalog, decided: CheckpointDecision): CheckpointDecision {
  if (decided.decision === 'go_on') return decided;
  const { gap } = decided;
  const isUsed = (id: string): boolean => catalog.get('gap', id)?.value['usedAtMs'] !== undefined;
  let id = gap.id;
  for (let again = 2; isUsed(id); again += 1) id = `${gap.id}-${again}`;
  return { decision: 'gap', gap: { ...gap, id } };
}

/** Gaps of a partition that were accepted and that no commit has come after yet. */
export function acceptedGaps(
  catalog: Catalog,
  place: { readonly flow: string; readonly topic: string; readonly partition: number },
): readonly string[] {
  return recordedGaps(catalog).flatMap(({ id, flow, topic, partition, acceptedAtMs, usedAtMs }) =>
    flow === place.flow &&
    topic === place.topic &&
    partition === place.partition &&
    acceptedAtMs !== undefined &&
    usedAtMs === undefined
      ? [id]
      : [],
  );
}

/** What takes note that gaps are behind a commit. */
export function usedGapEntries(catalog: Catalog, ids: readonly string[], nowMs: number) {
  return ids.flatMap((id) => {
    const known = catalog.get('gap', id);
    if (known === undefined) return [];
    return [{ kind: 'gap' as const, name: id, value: { ...known.value, usedAtMs: nowMs } }];
  });
}

/** What takes note that a refresh has answered the gaps of flows which nobody has accepted: what they lost stays on record. */
export function refreshedGapEntries(catalog: Catalog, flows: readonly string[], nowMs: number) {
  return recordedGaps(catalog).flatMap((gap) => {
    if (!flows.includes(gap.flow)) return [];
    if (gap.acceptedAtMs !== undefined || gap.refreshedAtMs !== undefined) return [];
    return [{ kind: 'gap' as const, name: gap.id, value: { ...gap, refreshedAtMs: nowMs } }];
  });
}

/** Makes gaps durable and gives the error that stops their flow. */
export async function recordGaps(
  catalog: Catalog,
  gaps: readonly Gap[],
  { table, nowMs }: { readonly table: WrittenTable; readonly nowMs: number },
): Promise<FlowError> {
  const fresh = gaps.filter(({ id }) => catalog.get('gap', id) === undefined);
  if (fresh.length > 0) {
    await catalog.write(
      fresh.map((gap) => ({
        kind: 'gap' as const,
        name: gap.id,
        value: { ...gap, detectedAtMs: nowMs },
      })),
      nowMs,
    );
  }
  return gapError(gaps, table);
}

/** What a flow writes: a sink is never refreshed, so only going on is left. */
type WrittenTable = { readonly name: string; readonly isSink?: boolean };

/** The error of a flow that cannot go on for the sake of gaps. */
export function gapError(gaps: readonly Gap[], table: WrittenTable): FlowError {
  const isRecreated = gaps.some(({ kind }) => kind === 'recreated' || kind === 'moved');
  const isLost = gaps.every(({ kind }) => kind === 'checkpoint_lost');
  const accept = gaps.map(({ id }) => `--accept-gap ${id}`).join(' ');
  if (!isRecreated && gaps.some(({ kind }) => kind === 'refreshed')) {
    return sourceRefreshed(gaps, accept);
  }
  return new FlowError(
    isRecreated ? 'TOPIC_RECREATED' : isLost ? 'CHECKPOINT_MISSING' : 'OFFSET_OUT_OF_RANGE',
    `flow "${gaps[0]?.flow ?? ''}" cannot go on without a gap in what it has read`,
    {
      detail: gaps.map(gapText).join(' '),
      hint: table.isSink
        ? `Nothing was skipped. A sink is not refreshed; go on from the first available offset with: tidemark run … ${accept}`
        : `Nothing was skipped. Refresh the table fully (tidemark refresh ${table.name} --plan tells first what that would lose), or go on from the first available offset with: tidemark run … ${accept}`,
      place: placeOf(gaps),
    },
  );
}

/** The first record that the first of them is about. */
function placeOf([gap]: readonly Gap[]): LogPlace | undefined {
  if (gap === undefined) return undefined;
  const { topic, partition, from, to } = gap;
  return { topic, partition, offset: from ?? to };
}

function sourceRefreshed(gaps: readonly Gap[], accept: string): FlowError {
  return new FlowError(
    'SOURCE_REFRESHED',
    `flow "${gaps[0]?.flow ?? ''}" reads a table that was refreshed fully since`,
    {
      detail: gaps.map(gapText).join(' '),
      hint: `Refresh the flow's table, too, so that it is a function of what is there now; or let it go on from its checkpoint with: tidemark run … ${accept}`,
      place: placeOf(gaps),
    },
  );
}

/** Takes gaps into account, by their ids; an id that nobody detected is a mistake. */
export async function acceptGaps(
  catalog: Catalog,
  ids: readonly string[],
  by: { readonly instance: string; readonly nowMs: number },
): Promise<void> {
  if (ids.length === 0) return;
  await catalog.read();
  const entries = ids.map((id) => {
    const known = catalog.get('gap', id);
    if (known === undefined) {
      throw new FlowError('USAGE', `there is no gap "${id}"`, {
        hint: 'tidemark gaps lists them. One that no run has met yet is detected by the next run without this flag, and can be accepted then.',
      });
    }
    const { nowMs, instance } = by;
    const value = { acceptedAtMs: nowMs, acceptedBy: instance, ...known.value };
    return { kind: 'gap' as const, name: id, value };
  });
  const accepted = entries.map(({ value }) => value as unknown as Gap);
  await catalog.write([...entries, ...acceptedStarts(catalog, accepted)], by.nowMs);
}

/** From here on the topics of appended rows may start where they do. */
function acceptedStarts(catalog: Catalog, gaps: readonly Gap[]) {
  const gone = gaps.filter(({ kind }) => kind === 'rows_gone');
  const topics = new Set(gone.map(({ topic }) => topic));
  return [...topics].flatMap((name) => {
    const value = catalog.get('topic', name)?.value;
    if (value === undefined) return [];
    const { starts: known = [] } = value as LogStarts;
    const starts = numbersTo(Number(value['partitions'])).map((partition) => {
      const ends = gone.flatMap((gap) =>
        gap.topic === name && gap.partition === partition ? [gap.to] : [],
      );
      return Math.max(known[partition] ?? 0, ...ends);
    });
    return [{ kind: 'topic' as const, name, value: { ...value, starts } }];
  });
}

/** What a topic to which a flow appends has lost of its first records. */
export function goneRows(
  flow: string,
  { topic }: TopicFacts,
  moved: readonly MovedStart[],
): readonly Gap[] {
  return moved.map(({ partition, known, start }) => ({
    id: `${flow}/${topic}/${partition}@${known}`,
    kind: 'rows_gone',
    flow,
    topic,
    partition,
    from: known,
    to: start,
    lostRecords: start - known,
  }));
}

/** No row of the table is concerned, so that nobody has to accept it: it is kept in mind. */
export function goneDeadLetters(flow: string, topic: string, topicId: string): Gap {
  return {
    id: `${flow}/${topic}@${topicId.slice(0, 8)}`,
    kind: 'dead_letters_gone',
    flow,
    topic,
    partition: 0,
    // Known, so that no account of rows is taken for lost.
    from: 0,
    to: 0,
    lostRecords: undefined,
  };
}

export function recordedGaps(catalog: Catalog): RecordedGap[] {
  return catalog.all('gap').map(({ value }) => value as unknown as RecordedGap);
}
