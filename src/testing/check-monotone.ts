import type { CommittedRecord } from '../adapters/memory/memory-log.ts';
import type { OutputMode } from '../plan/pipeline-plan.ts';
import { OutputFold } from './fold-output.ts';

/**
 * Follows the committed output as a reader does, transaction by transaction, and returns what no
 * reader may ever see: a sequence that falls, a row-set that is a mix of two sequences, a row that
 * vanishes while its sequence stands, or one row twice. None: every state that a reader can see was right
 * at some moment, and no later one was older. The records come partition by partition; `fold` is where they end up.
 */
export function checkMonotone<Sequence>(
  records: readonly CommittedRecord[],
  output: OutputMode,
  sequenceOf: (text: string) => Sequence,
  compare: (a: Sequence, b: Sequence) => number,
  fold: OutputFold = new OutputFold(output),
): readonly string[] {
  const faults: string[] = [];
  const seen = new Map<string, Seen<Sequence>>();
  for (const together of groups(records, output)) {
    const touched = new Set(together.map((record) => fold.add(record)));
    const { partition, offset } = together[0] as CommittedRecord;
    for (const key of touched) {
      const fault = step({ fold, seen, key, sequenceOf, compare });
      if (fault !== undefined) faults.push(`${partition}@${offset} ${key}: ${fault}`);
    }
  }
  return faults;
}

type Seen<Sequence> = { readonly sequence: Sequence; readonly sources: readonly string[] };

/** A record is seen whole; in mode `rows`, all records of a transaction become visible at once. */
function* groups(
  records: readonly CommittedRecord[],
  output: OutputMode,
): Generator<readonly CommittedRecord[]> {
  let group: CommittedRecord[] = [];
  for (const record of records) {
    const last = group.at(-1);
    const isTogether = output === 'rows' && record.transaction !== 0;
    const isNext = last?.transaction === record.transaction && last.partition === record.partition;
    if (last !== undefined && !(isTogether && isNext)) {
      yield group;
      group = [];
    }
    group.push(record);
  }
  if (group.length > 0) yield group;
}

function step<Sequence>({
  fold,
  seen,
  key,
  sequenceOf,
  compare,
}: {
  readonly fold: OutputFold;
  readonly seen: Map<string, Seen<Sequence>>;
  readonly key: string;
  readonly sequenceOf: (text: string) => Sequence;
  readonly compare: (a: Sequence, b: Sequence) => number;
}): string | undefined {
  const sets = fold.records(key);
  const [first] = sets;
  // The key has no rows now; its level is not told in the output, so the last one that was seen stands.
  if (first === undefined) return undefined;
  const texts = new Set(sets.map(({ sequence }) => sequence));
  if (texts.size > 1) return `mixes the sequences ${[...texts].join(' and ')}`;
  const sequence = sequenceOf(first.sequence);
  const sources = sets.flatMap(({ rows }) => rows.flatMap((row) => row.sources));
  if (new Set(sources).size !== sources.length) return 'shows one row twice';
  const before = seen.get(key);
  seen.set(key, { sequence, sources });
  if (before === undefined) return undefined;
  const order = compare(sequence, before.sequence);
  if (order < 0) return `falls from sequence ${before.sequence} to ${sequence}`;
  const lost = before.sources.filter((source) => !sources.includes(source));
  if (order === 0 && lost.length > 0) return `loses row ${lost[0]} at the same sequence`;
  return undefined;
}
