import type { CommittedRecord } from '../../adapters/memory/memory-log.ts';
import type { OutputMode } from '../../plan/pipeline-plan.ts';
import { OutputFold } from './fold-output.ts';

/** How the sequences of a table are read and ordered. */
export type SequenceOrder<Sequence> = {
  readonly sequenceOf: (text: string) => Sequence;
  readonly compare: (a: Sequence, b: Sequence) => number;
};

/**
 * Follows the committed output as a reader does, transaction by transaction, and notes what no
 * reader may ever see: a sequence that falls, a row-set that is a mix of two sequences, a row that
 * vanishes while its sequence stands, or one row twice. None: every state that a reader can see was right
 * at some moment, and no later one was older. The records of a partition come in their order, and those of a
 * transaction in one partition together; `fold` is where they end up.
 */
export class MonotoneCheck<Sequence> {
  readonly fold: OutputFold;
  readonly #output: OutputMode;
  readonly #order: SequenceOrder<Sequence>;
  readonly #seen = new Map<string, Seen<Sequence>>();

  constructor(output: OutputMode, order: SequenceOrder<Sequence>, fold = new OutputFold(output)) {
    this.#output = output;
    this.#order = order;
    this.fold = fold;
  }

  /** Takes the next records, and returns what is wrong with what a reader has seen of them. */
  add(records: readonly CommittedRecord[]): readonly string[] {
    const faults: string[] = [];
    for (const together of groups(records, this.#output)) {
      const touched = new Set(together.map((record) => this.fold.add(record)));
      const { partition, offset } = together[0] as CommittedRecord;
      for (const key of touched) {
        const fault = this.#step(key);
        if (fault !== undefined) faults.push(`${partition}@${offset} ${key}: ${fault}`);
      }
    }
    return faults;
  }

  #step(key: string): string | undefined {
    const { sequenceOf, compare } = this.#order;
    const sets = this.fold.records(key);
    const [first] = sets;
    // The key has no rows now; its level is not told in the output, so the last one that was seen stands.
    if (first === undefined) return undefined;
    const mixed = sets.find((set) => set.sequence !== first.sequence);
    if (mixed !== undefined) return `mixes the sequences ${first.sequence} and ${mixed.sequence}`;
    const sequence = sequenceOf(first.sequence);
    const sources = new Set<string>();
    let shown = 0;
    for (const { rows } of sets) {
      for (const row of rows) {
        for (const source of row.sources) {
          sources.add(source);
          shown += 1;
        }
      }
    }
    if (sources.size !== shown) return 'shows one row twice';
    const before = this.#seen.get(key);
    this.#seen.set(key, { sequence, sources });
    if (before === undefined) return undefined;
    const order = compare(sequence, before.sequence);
    if (order < 0) return `falls from sequence ${before.sequence} to ${sequence}`;
    if (order > 0) return undefined;
    for (const source of before.sources) {
      if (!sources.has(source)) return `loses row ${source} at the same sequence`;
    }
    return undefined;
  }
}

/** The whole output at once, partition by partition: what is wrong with any state that a reader could have seen. */
export function checkMonotone<Sequence>(
  records: readonly CommittedRecord[],
  output: OutputMode,
  sequenceOf: (text: string) => Sequence,
  compare: (a: Sequence, b: Sequence) => number,
  fold?: OutputFold,
): readonly string[] {
  return new MonotoneCheck(output, { sequenceOf, compare }, fold).add(records);
}

type Seen<Sequence> = { readonly sequence: Sequence; readonly sources: ReadonlySet<string> };

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
