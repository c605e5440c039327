import { viewOf } from '../../data/byte-copy.ts';
import { ByteWriter } from '../../data/byte-writer.ts';
import { valueEnd } from '../../data/json-lex.ts';
import { provenanceTemplate } from '../../data/provenance.ts';
import { headerName } from '../../data/record-headers.ts';
import { beginEnvelope, endSequence } from '../../data/row-envelope.ts';
import { makeSingleEntry } from '../../data/row-set.ts';
import type { SequenceCodec } from '../../data/sequence.ts';
import type { RecordCursor } from '../../ports/log.ts';
import { EntrySlab } from '../key/entry-slab.ts';

export type SingleRecordOptions = {
  /** The value is a list of rows (output mode `row_set`); else it is the row itself. */
  readonly isList: boolean;
  /** Whether the entry keeps the row, or its provenance alone. */
  readonly withRow: boolean;
  readonly sequence: Pick<SequenceCodec, 'parse' | 'readText'>;
};

/** The place of a source as the header has it, and the provenance that begins with it. */
type Place = { readonly text: Buffer; readonly provenance: DataView };

// What `OutputWriter` puts before each value of the headers; the section begins with their count.
const three = 6;
const sequenceName = headerName('tm-seq');
const sourceName = headerName('tm-src');
const generationName = headerName('tm-gen');
/** Lengths up to here are one byte. */
const shortMax = 127;
const digit0 = 0x30;
const atSign = 0x40;
const openBracket = 0x5b;
const closeBracket = 0x5d;
/** Source partitions that are known by their text. */
const placesMax = 64;
/** More digits might not be a safe integer. */
const offsetDigitsMax = 15;

/**
 * Makes the state entry of the usual record of an output topic, one row with the three headers that we write, straight
 * from its bytes: nearly all records of a restore are such. Invariant: what is anything else, or might not be ours, gives
 * undefined and is left to the reader that takes everything apart and knows what to refuse.
 */
export class SingleRecords {
  readonly #options: SingleRecordOptions;
  readonly #entry = new ByteWriter(1024);
  readonly #slab = new EntrySlab();
  readonly #places: Place[] = [];
  #place: Place | undefined;
  /** End of the header that was read last. */
  #end = 0;

  constructor(options: SingleRecordOptions) {
    this.#options = options;
  }

  entryOf(records: RecordCursor): Buffer | undefined {
    const { bytes, headersStart, headersEnd, valueStart } = records;
    const rowEnd = this.#rowEnd(records);
    if (rowEnd < 0 || bytes[headersStart] !== three) return undefined;
    const sequenceStart = this.#valueAt(bytes, headersStart + 1, headersEnd, sequenceName);
    const sequenceEnd = this.#end;
    if (sequenceStart < 0) return undefined;
    const sourceStart = this.#valueAt(bytes, sequenceEnd, headersEnd, sourceName);
    const sourceEnd = this.#end;
    if (sourceStart < 0) return undefined;
    const isOurs = this.#valueAt(bytes, sourceEnd, headersEnd, generationName) >= 0;
    if (!isOurs || this.#end !== headersEnd) return undefined;
    const provenance = this.#provenance(bytes, sourceStart, sourceEnd);
    if (provenance === undefined) return undefined;
    const entry = this.#entry;
    entry.reset();
    beginEnvelope(entry, provenance);
    this.#readSequence(entry, bytes, sequenceStart, sequenceEnd);
    endSequence(entry, 0, 0);
    if (this.#options.withRow) {
      entry.bytes(bytes, valueStart + (this.#options.isList ? 1 : 0), rowEnd);
    }
    makeSingleEntry(entry.buffer, 0);
    return this.#slab.copy(entry.buffer, entry.view, 0, entry.length);
  }

  /** Where the only row of the value ends; -1: there are none, or several. */
  #rowEnd({ bytes, valueStart, valueEnd: end }: RecordCursor): number {
    if (end < 0 || !this.#options.isList) return end;
    if (bytes[valueStart] !== openBracket) return -1;
    const rowEnd = valueEnd(bytes, valueStart + 1, end, 1);
    return rowEnd === end - 1 && bytes[rowEnd] === closeBracket ? rowEnd : -1;
  }

  /** Where the value of the header at `start` begins, if it has this name and a short value; leaves its end. */
  #valueAt(bytes: Buffer, start: number, end: number, name: Buffer): number {
    const at = start + name.length;
    if (at >= end) return -1;
    for (let index = 0; index < name.length; index += 1) {
      if (bytes[start + index] !== name[index]) return -1;
    }
    const length = bytes[at] as number;
    // Odd: null.
    if (length > shortMax || (length & 1) === 1) return -1;
    this.#end = at + 1 + (length >> 1);
    return this.#end <= end ? at + 1 : -1;
  }

  #readSequence(out: ByteWriter, bytes: Buffer, start: number, end: number): void {
    const { sequence } = this.#options;
    if (sequence.readText(out, bytes, start, end)) return;
    out.bytes(sequence.parse(bytes.toString('utf8', start, end)));
  }

  /** Of `<topic id>/<partition>@<offset>` and nothing behind it. */
  #provenance(bytes: Buffer, start: number, end: number): DataView | undefined {
    const place = this.#placeAt(bytes, start, end);
    if (place === undefined) return undefined;
    const first = start + place.text.length + 1;
    if (first >= end || end - first > offsetDigitsMax) return undefined;
    let offset = 0;
    for (let at = first; at < end; at += 1) {
      const digit = (bytes[at] as number) - digit0;
      if (digit < 0 || digit > 9) return undefined;
      offset = offset * 10 + digit;
    }
    const { provenance } = place;
    provenance.setUint32(20, Math.floor(offset / 0x1_0000_0000));
    provenance.setUint32(24, offset >>> 0);
    return provenance;
  }

  /** Most of the time it is that of the record before, else nearly always one of the few that were met lately. */
  #placeAt(bytes: Buffer, start: number, end: number): Place | undefined {
    const last = this.#place;
    if (last !== undefined && isAt(last.text, bytes, start, end)) return last;
    for (const known of this.#places) {
      if (!isAt(known.text, bytes, start, end)) continue;
      this.#place = known;
      return known;
    }
    let at = start;
    while (at < end && bytes[at] !== atSign) at += 1;
    const text = Buffer.from(bytes.subarray(start, at));
    const found = /^([0-9a-f]{32})\/(\d{1,9})$/.exec(text.toString('latin1'));
    if (found === null || at === end) return undefined;
    const provenance = viewOf(provenanceTemplate(found[1] as string, Number(found[2]), 0));
    if (this.#places.length === placesMax) this.#places.length = 0;
    this.#place = { text, provenance };
    this.#places.push(this.#place);
    return this.#place;
  }
}

function isAt(text: Buffer, bytes: Buffer, start: number, end: number): boolean {
  const { length } = text;
  if (end - start <= length || bytes[start + length] !== atSign) return false;
  // From the end: partitions differ more often than topics.
  for (let index = length - 1; index >= 0; index -= 1) {
    if (bytes[start + index] !== text[index]) return false;
  }
  return true;
}
