import { viewOf } from '../../data/byte-copy.ts';
import type { ByteWriter } from '../../data/byte-writer.ts';
import { writeWhole } from '../../data/number-bytes.ts';
import { readProvenance } from '../../data/provenance.ts';

/** Topic id and partition. */
const placeBytes = 20;
const placesMax = 64;
const at = 0x40;

type Place = { readonly bytes: Buffer; readonly text: Buffer; readonly view: DataView };

/** From the end: partitions differ more often than topics. */
function isAt(place: Buffer, bytes: Buffer, start: number): boolean {
  for (let index = placeBytes - 1; index >= 0; index -= 1) {
    if (bytes[start + index] !== place[index]) return false;
  }
  return true;
}

/**
 * Writes entries of header `tm-src` (`parseSources` reads them). Invariant: what it keeps from one entry to the next
 * is only the texts of the places that it met.
 */
export class SourceTextWriter {
  /** Each place with its text, in the slot of its partition. */
  readonly #places: (Place | undefined)[] = new Array(placesMax).fill(undefined);

  /** A whole entry, topic and partition included. */
  whole(out: ByteWriter, bytes: Buffer, start: number): void {
    const slot = (bytes[start + 19] as number) % placesMax;
    let place = this.#places[slot];
    if (place === undefined || !isAt(place.bytes, bytes, start)) {
      const { topicId, partition } = readProvenance(bytes, start);
      const text = Buffer.from(`${topicId}/${partition}`, 'latin1');
      place = {
        bytes: Buffer.from(bytes.subarray(start, start + placeBytes)),
        text,
        view: viewOf(text),
      };
      this.#places[slot] = place;
    }
    out.span(place.text, place.view, 0, place.text.length);
    this.position(out, bytes, start);
  }

  /** What follows topic and partition. */
  position(out: ByteWriter, bytes: Buffer, start: number): void {
    const offset = bytes.readUInt32BE(start + 20) * 0x1_0000_0000 + bytes.readUInt32BE(start + 24);
    out.byte(at);
    writeWhole(out, offset);
    const isFirst = bytes.readUInt32BE(start + 28) === 0 && bytes.readUInt32BE(start + 32) === 0;
    if (isFirst) return;
    const { branch, index } = readProvenance(bytes, start);
    out.ascii(`#${branch}.${index}`);
  }
}
