import { readHeaders } from '../../src/data/record-headers.ts';
import type { Log, RecordCursor, Slice } from '../../src/ports/log.ts';

/** Something that a reader of an output topic should never have seen. */
export type Sighting = {
  readonly key: string;
  readonly what: 'missing' | 'older';
  readonly where: string;
};

/**
 * A reader that follows an output topic all along, record by record, as it is committed, and notes whenever a key goes
 * away that had rows, or goes back to a lower sequence. It knows nothing of what runs.
 */
export class OutputWatcher {
  readonly #sightings: Sighting[] = [];
  readonly #log: Log;
  readonly #topic: string;
  readonly #isAllowedEmpty: (key: string, sequence: number) => boolean;
  /** Key → highest sequence seen, and whether it has rows now. */
  readonly #keys = new Map<string, { sequence: number; hasRows: boolean }>();
  readonly #positions = new Map<number, number>();
  #isStopped = false;
  #following: Promise<void> | undefined;

  constructor(
    log: Log,
    topic: string,
    /** Whether a key may have lost its rows after this sequence: a marker said so. */
    isAllowedEmpty: (key: string, sequence: number) => boolean,
  ) {
    this.#log = log;
    this.#topic = topic;
    this.#isAllowedEmpty = isAllowedEmpty;
  }

  start(): void {
    this.#following = this.#follow();
  }

  /** Reads on to the end as it stands now, then stops; what was seen. */
  async stop(): Promise<readonly Sighting[]> {
    this.#isStopped = true;
    await this.#following;
    return this.#sightings;
  }

  async #follow(): Promise<void> {
    const reader = this.#log.openReader();
    try {
      for (const [partition, { start }] of await this.#ranges()) {
        this.#positions.set(partition, start);
        reader.assign(this.#topic, partition, start);
      }
      for (;;) {
        const isLast = this.#isStopped;
        const goals = await this.#ranges();
        while ([...goals].some(([at, { stable }]) => (this.#positions.get(at) ?? 0) < stable)) {
          for (const slice of await reader.poll(200)) this.#take(slice);
        }
        if (isLast) return;
        for (const slice of await reader.poll(100)) this.#take(slice);
      }
    } finally {
      await reader.close();
    }
  }

  async #ranges() {
    const count = (await this.#log.describeTopics([this.#topic])).get(this.#topic)?.partitions ?? 0;
    return this.#log.offsetRanges(
      this.#topic,
      Array.from({ length: count }, (_, partition) => partition),
    );
  }

  #take({ partition, records, nextOffset }: Slice): void {
    while (records.next()) this.#see(records, `${partition}@${records.offset}`);
    this.#positions.set(partition, nextOffset);
  }

  #see(records: RecordCursor, where: string): void {
    const { bytes, keyStart, keyEnd, valueEnd } = records;
    const text = bytes.toString('utf8', keyStart, keyEnd);
    const key = text.replace(/,"_row":\d+/, '');
    // Tombstones of higher row numbers only make a set smaller.
    const isWhole = Number(/"_row":(\d+)/.exec(text)?.[1] ?? 0) === 0;
    const known = this.#keys.get(key) ?? { sequence: Number.NEGATIVE_INFINITY, hasRows: false };
    this.#keys.set(key, known);
    if (valueEnd < 0) {
      if (!isWhole) return;
      if (known.hasRows && !this.#isAllowedEmpty(key, known.sequence)) {
        this.#sightings.push({ key, what: 'missing', where });
      }
      known.hasRows = false;
      return;
    }
    const sequence = sequenceOf(records);
    if (sequence < known.sequence) this.#sightings.push({ key, what: 'older', where });
    known.sequence = sequence;
    known.hasRows = true;
  }
}

function sequenceOf({ bytes, headersStart, headersEnd }: RecordCursor): number {
  for (const { key, value } of readHeaders(bytes, headersStart, headersEnd)) {
    if (key === 'tm-seq') return Number(value?.toString('utf8'));
  }
  return Number.NaN;
}
