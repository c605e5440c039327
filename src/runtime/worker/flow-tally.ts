import type { LogPlace } from '../../base/log-place.ts';
import type { OutgoingRecord, RecordSink } from '../../ports/log.ts';
import type { Replaced } from '../../task/key/keyed-task.ts';
import { type TimeRun, TimeRuns } from '../../task/time-runs.ts';

/** Records that became dead letters, and the last of them. */
export type SetAside = {
  readonly records: number;
  readonly errorClass: string;
  readonly place: LogPlace;
};

/** What one commit of one flow carried. */
export type FlowFigures = {
  readonly flow: string;
  /** Source topic → bytes fetched from it. */
  readonly inputBytes: ReadonlyMap<string, number>;
  /** To the output topic: records with a value, records without one, bytes of all of them. */
  readonly upserts: number;
  readonly deletes: number;
  readonly outputBytes: number;
  /** The largest record, in bytes; 0 without any. */
  readonly recordBytesMax: number;
  /** Rows of a key that was written → how many such keys. */
  readonly setRows: ReadonlyMap<number, number>;
  /** Row-sets that gave way to a higher sequence, and the rows that went with them. */
  readonly replaced: Replaced;
  /** When the source records were made whose rows are in the result. */
  readonly times: readonly TimeRun[];
  /** undefined: none. */
  readonly setAside: SetAside | undefined;
};

/**
 * Adds up what a flow reads and writes for the commit that is being filled. Invariant: `take` gives what came since
 * the call before, so that a commit that fails takes its figures with it, as it does its rows.
 */
export class FlowTally {
  readonly #flow: string;
  readonly #outputTopic: string;
  /** Told by the task that is the last stage. */
  readonly times = new TimeRuns();
  #inputBytes = new Map<string, number>();
  #setRows = new Map<number, number>();
  #replacedSets = 0;
  #replacedRows = 0;
  #upserts = 0;
  #deletes = 0;
  #outputBytes = 0;
  #recordBytesMax = 0;
  #setAside: SetAside | undefined;

  constructor(flow: string, outputTopic: string) {
    this.#flow = flow;
    this.#outputTopic = outputTopic;
  }

  fetched(topic: string, bytes: number): void {
    this.#inputBytes.set(topic, (this.#inputBytes.get(topic) ?? 0) + bytes);
  }

  rowSets(counts: ReadonlyMap<number, number>): void {
    for (const [rows, keys] of counts) {
      this.#setRows.set(rows, (this.#setRows.get(rows) ?? 0) + keys);
    }
  }

  replaced({ sets, rows }: Replaced): void {
    this.#replacedSets += sets;
    this.#replacedRows += rows;
  }

  setAside(errorClass: string, place: LogPlace): void {
    this.#setAside = { records: (this.#setAside?.records ?? 0) + 1, errorClass, place };
  }

  /** A sink that counts what goes to the output topic on its way. */
  over(sink: RecordSink): RecordSink {
    return {
      append: (topic, partition, record) => {
        if (topic === this.#outputTopic) this.#written(record);
        sink.append(topic, partition, record);
      },
    };
  }

  #written(record: OutgoingRecord): void {
    const { keyStart, keyEnd, valueStart, valueEnd, headersStart, headersEnd } = record;
    const keyBytes = keyEnd < 0 ? 0 : keyEnd - keyStart;
    const bytes =
      keyBytes + (valueEnd < 0 ? 0 : valueEnd - valueStart) + (headersEnd - headersStart);
    if (valueEnd < 0) this.#deletes += 1;
    else this.#upserts += 1;
    this.#outputBytes += bytes;
    if (bytes > this.#recordBytesMax) this.#recordBytesMax = bytes;
  }

  take(): FlowFigures {
    const figures: FlowFigures = {
      flow: this.#flow,
      inputBytes: this.#inputBytes,
      upserts: this.#upserts,
      deletes: this.#deletes,
      outputBytes: this.#outputBytes,
      recordBytesMax: this.#recordBytesMax,
      setRows: this.#setRows,
      replaced: { sets: this.#replacedSets, rows: this.#replacedRows },
      times: this.times.take(),
      setAside: this.#setAside,
    };
    this.#inputBytes = new Map();
    this.#setRows = new Map();
    this.#replacedSets = 0;
    this.#replacedRows = 0;
    this.#upserts = 0;
    this.#deletes = 0;
    this.#outputBytes = 0;
    this.#recordBytesMax = 0;
    this.#setAside = undefined;
    return figures;
  }
}
