import type { RecordCursor } from '../../../ports/log.ts';
import type { AbortedTransaction } from './fetch.ts';

export type RecordSet = {
  readonly topic: string;
  readonly partition: number;
  /** The raw record set of one partition, as the fetch brought it. */
  readonly bytes: Buffer;
  /** The offset that was asked for; records below it are not shown. */
  readonly position: number;
  /** null: read uncommitted, aborted records are shown. Control batches never are. */
  readonly abortedTransactions: readonly AbortedTransaction[] | null;
  /** Bound of one decompressed batch; 64 MB where left out. */
  readonly decompressedBytesMax?: number;
};

export class RecordBatchCursor implements RecordCursor {
  /** The position after all complete batches, control and aborted ones included. */
  readonly nextOffset: number;
  /** Upper bound of the records that `next` will give. */
  readonly recordCountMax: number;
  offset = 0;
  timestampMs = 0;
  bytes: Buffer;
  keyStart = 0;
  keyEnd = -1;
  valueStart = 0;
  valueEnd = -1;
  headersStart = 0;
  headersEnd = 0;

  constructor(set: RecordSet) {
    this.bytes = set.bytes;
    this.nextOffset = set.position;
    this.recordCountMax = 0;
  }

  next(): boolean {
    return false;
  }
}
