import { murmur2 } from '../../data/murmur2.ts';

/** The keys whose hash begins with these bits: a part of a partition's keys that fits into memory. */
export type KeyShare = { readonly bits: number; readonly value: number };

export const wholeShare: KeyShare = { bits: 0, value: 0 };

/** Bound of the division: beyond it a share is a handful of keys. */
export const shareBitsMax = 24;

/** `key`: latin1 text of its canonical bytes. */
export function isInShare(key: string, { bits, value }: KeyShare): boolean {
  if (bits === 0) return true;
  const bytes = Buffer.from(key, 'latin1');
  // The low bits are alike within a partition: they chose it.
  return murmur2(bytes, 0, bytes.length) >>> (32 - bits) === value;
}

export function halves({ bits, value }: KeyShare): readonly [KeyShare, KeyShare] {
  return [
    { bits: bits + 1, value: value * 2 },
    { bits: bits + 1, value: value * 2 + 1 },
  ];
}
