import type { Span } from '../../data/bytes.ts';
import { decodeChanges } from '../../data/change.ts';
import { decodeRowSet, isLevelEntry, isVacant } from '../../data/row-set.ts';
import type { StateSession, StateStore } from '../../ports/state-store.ts';
import { type OutsideOptions, whileNobodyReads } from '../refresh/refresh-checkpoints.ts';
import { generationStart } from '../takeover/generation.ts';
import { partitionKey } from '../takeover/partition-key.ts';
import { pastFormerEpochs } from '../takeover/past-former-epochs.ts';
import { takeOverTable } from '../takeover/takeover.ts';
import { isChanging, outputSteps } from '../worker/table-stage.ts';
import {
  isJoining,
  isReplacing,
  type KeyedFlowFacts,
  type ReplaceFlowFacts,
  stateTopicOf,
} from './flow-facts.ts';

export type StateOptions<Facts extends KeyedFlowFacts = ReplaceFlowFacts> = OutsideOptions & {
  readonly state: StateStore;
  readonly facts: Facts;
};

export type PartitionScrub = {
  readonly partition: number;
  /** `absent`: there is no state, as before a first start. `behind`: it is brought up at the next start. */
  readonly state: 'right' | 'absent' | 'behind' | 'other topic' | 'differs';
  readonly stateOffset: number | null;
  readonly outputEnd: number;
  readonly keys: number;
  /** Keys whose entry is not what the output topic says. */
  readonly differing: readonly string[];
  readonly differences: number;
};

const shownKeysMax = 10;
const cacheBytesMax = 1024 * 1024;

/**
 * Compares the state of a table, of whichever kind, with the topic that it follows, which rules. Invariant: the state is only read; whoever runs next
 * takes it over as it is.
 */
export function scrubState(
  options: StateOptions<KeyedFlowFacts>,
): Promise<readonly PartitionScrub[]> {
  return inTurn(options, async (partition, session) => {
    const { facts, log } = options;
    const { topic, topicId } = stateTopicOf(facts);
    const range = (await log.offsetRanges(topic, [partition])).get(partition);
    const outputEnd = range?.stable ?? 0;
    const mark = await session.mark();
    const told = { partition, outputEnd, stateOffset: mark?.offset ?? null, keys: 0 };
    const empty = { ...told, differing: [], differences: 0 };
    if (mark === undefined) return { ...empty, state: 'absent' };
    if (mark.topicId !== topicId) return { ...empty, state: 'other topic' };
    const expected = await foldOutput(options, partition, mark.offset);
    const differing: string[] = [];
    let differences = 0;
    const differs = (key: string): void => {
      differences += 1;
      if (differing.length < shownKeysMax) {
        differing.push(Buffer.from(key, 'latin1').toString('utf8'));
      }
    };
    let keys = 0;
    const seen = new Set<string>();
    for await (const part of session.scan()) {
      for (const [key, entry] of part) {
        if (seen.has(key)) continue;
        seen.add(key);
        keys += 1;
        const text = textOf(facts, entry);
        if (text !== (expected.get(key) ?? '')) differs(key);
      }
    }
    for (const [key, text] of expected) if (text !== '' && !seen.has(key)) differs(key);
    const isBehind = await hasRecords(options, partition, { from: mark.offset, to: outputEnd });
    const state = differences > 0 ? 'differs' : isBehind ? 'behind' : 'right';
    return { ...told, keys, differing, differences, state };
  });
}

/** Throws the state of a table away, of whichever kind, and restores it from the topic that it follows. */
export function rebuildState(options: StateOptions<KeyedFlowFacts>): Promise<readonly number[]> {
  const { facts, pipeline, log, state, catalog, clock, listener } = options;
  return inTurn(options, async (partition, session, epoch) => {
    await session.clear();
    const slot = await takeOverTable(
      {
        pipeline,
        facts,
        log,
        state,
        catalog,
        clock,
        listener,
        cacheBytesMax,
        predecessor: undefined,
        isInterrupted: () => false,
      },
      partition,
      epoch,
    );
    await slot.close();
    return partition;
  });
}

/** One partition after the other, each under an epoch of its own, while no instance has any of them. */
function inTurn<Result>(
  options: StateOptions<KeyedFlowFacts>,
  work: (partition: number, session: StateSession, epoch: number) => Promise<Result>,
): Promise<readonly Result[]> {
  const { facts, catalog, clock, pipeline, state, command } = options;
  const flow = facts.flow.name;
  return whileNobodyReads(options, [flow], async () => {
    const results: Result[] = [];
    for (let partition = 0; partition < facts.repartition.partitions; partition += 1) {
      const name = `${flow}/${partitionKey(facts.repartition.topic, partition)}`;
      const owner = { instance: command, transactionalId: null };
      const entry = { kind: 'takeover' as const, name, value: owner };
      const epoch = await catalog.write([entry], clock.now());
      const { generation } = facts;
      const id = { pipeline, flow, generation, partition };
      const session = await pastFormerEpochs(options, epoch, (own) => state.open(id, own));
      try {
        results.push(await work(partition, session, epoch));
      } finally {
        await session.close().catch(() => undefined);
      }
    }
    return results;
  });
}

/** Control records alone leave nothing to follow. */
async function hasRecords(
  { facts, log }: StateOptions<KeyedFlowFacts>,
  partition: number,
  { from, to }: { readonly from: number; readonly to: number },
): Promise<boolean> {
  if (from >= to) return false;
  const reader = log.openReader();
  try {
    reader.assign(stateTopicOf(facts).topic, partition, from);
    for (let position = from; position < to; ) {
      for (const { records, nextOffset } of await reader.poll(500)) {
        if (records.next()) return true;
        position = nextOffset;
      }
    }
    return false;
  } finally {
    await reader.close();
  }
}

/**
 * Key → what its entry says, as the topic that the state follows has it below an offset; levels of empty keys are not
 * compared.
 */
async function foldOutput(
  { facts, log }: StateOptions<KeyedFlowFacts>,
  partition: number,
  end: number,
): Promise<ReadonlyMap<string, string>> {
  const step = outputSteps(facts, partition);
  const { topic } = stateTopicOf(facts);
  const range = (await log.offsetRanges(topic, [partition])).get(partition);
  const first = isJoining(facts) ? 0 : generationStart(facts.swaps, partition);
  const entries = new Map<string, Buffer | undefined>();
  const reader = log.openReader();
  try {
    let position = Math.max(range?.start ?? 0, first);
    if (position < end) reader.assign(topic, partition, position);
    while (position < end) {
      for (const slice of await reader.poll(500)) {
        const { keysNeeded, apply } = step(slice);
        const present = keysNeeded.map((key) => entries.get(key));
        for (const [key, entry] of apply(present)) entries.set(key, entry);
        position = slice.nextOffset;
      }
    }
  } finally {
    await reader.close();
  }
  return new Map([...entries].map(([key, entry]) => [key, entry ? textOf(facts, entry) : '']));
}

/** What an entry says, whichever of its forms it has; '' where it has no rows. */
function textOf(facts: KeyedFlowFacts, entry: Buffer): string {
  if (isReplacing(facts)) return setText(entry, facts.table.output === 'row_set');
  return isChanging(facts) ? changesText(entry) : entry.toString('hex');
}

/** A delete is a level: nothing of the table shows it. */
function changesText(entry: Buffer): string {
  const rows = (decodeChanges(entry) ?? []).filter(({ isDelete }) => !isDelete);
  const hex = ({ bytes, start, end }: Span): string => bytes.toString('hex', start, end);
  const parts = rows.map(
    ({ sequence, provenance, row }) => `${hex(sequence)} ${hex(provenance)} ${hex(row)}`,
  );
  return parts.sort().join('\n');
}

function setText(entry: Buffer, withRows: boolean): string {
  if (isLevelEntry(entry)) return '';
  const set = decodeRowSet(entry);
  const rows = (set?.rows ?? []).filter((row) => !isVacant(row));
  if (set === undefined || rows.length === 0) return '';
  const { bytes, start, end } = set.sequence;
  const parts = rows.map(({ provenance, row }) => {
    const source = provenance.bytes.toString('hex', provenance.start, provenance.end);
    return withRows ? `${source} ${row.bytes.toString('utf8', row.start, row.end)}` : source;
  });
  return `${bytes.toString('hex', start, end)}\n${parts.sort().join('\n')}`;
}
