import { type FunctionDefinition, strictFunction } from '../function.ts';
import { exactly, parameter } from '../parameter.ts';
import { types } from '../types.ts';

/** Bits of one bitmap: 4 KiB. */
export const bitmapBits = 32_768n;

/** Where a number stands in bitmaps, and how many bits a bitmap has. */
export const bitmapFunctions: readonly FunctionDefinition[] = [
  strictFunction({
    names: ['bitmap_bit_position'],
    parameters: [parameter.bigint],
    returns: types.bigint,
    evaluate: (value) => (value > 0n ? (value - 1n) % bitmapBits : -value % bitmapBits),
  }),
  strictFunction({
    names: ['bitmap_bucket_number'],
    parameters: [parameter.bigint],
    returns: types.bigint,
    evaluate: (value) => (value > 0n ? 1n + (value - 1n) / bitmapBits : value / bitmapBits),
  }),
  strictFunction({
    names: ['bitmap_count'],
    parameters: [exactly(parameter.binary)],
    returns: types.bigint,
    evaluate: (bytes) => BigInt(bytes.reduce((sum, byte) => sum + bitsOf(byte), 0)),
  }),
];

function bitsOf(byte: number): number {
  let count = 0;
  for (let rest = byte; rest > 0; rest >>= 1) count += rest & 1;
  return count;
}
