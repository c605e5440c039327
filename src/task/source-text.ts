import type { ByteWriter } from '../data/byte-writer.ts';
import { readProvenance } from '../data/provenance.ts';

/**
 * Writes entries of header `tm-src` (`parseSources` reads them). Invariant: what it keeps from one entry to the next
 * is only the text of the last place, since neighbours mostly share it.
 */
export class SourceTextWriter {
  readonly #lastPlace = Buffer.alloc(20);
  #lastPlaceText: Buffer = Buffer.from(`${'0'.repeat(32)}/0`, 'latin1');

  /** A whole entry, topic and partition included. */
  whole(out: ByteWriter, bytes: Buffer, start: number): void {
    if (bytes.compare(this.#lastPlace, 0, 20, start, start + 20) !== 0) {
      bytes.copy(this.#lastPlace, 0, start, start + 20);
      const { topicId, partition } = readProvenance(bytes, start);
      this.#lastPlaceText = Buffer.from(`${topicId}/${partition}`, 'latin1');
    }
    out.bytes(this.#lastPlaceText);
    this.position(out, bytes, start);
  }

  /** What follows topic and partition. */
  position(out: ByteWriter, bytes: Buffer, start: number): void {
    const offset = bytes.readUInt32BE(start + 20) * 0x1_0000_0000 + bytes.readUInt32BE(start + 24);
    out.ascii(`@${offset}`);
    const isFirst = bytes.readUInt32BE(start + 28) === 0 && bytes.readUInt32BE(start + 32) === 0;
    if (isFirst) return;
    const { branch, index } = readProvenance(bytes, start);
    out.ascii(`#${branch}.${index}`);
  }
}
