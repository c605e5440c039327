/** CRC-32 (IEEE 802.3), as a number from 0. */
export function crc32(bytes: Uint8Array): number {
  let crc = -1;
  for (const byte of bytes) crc = (crc >>> 8) ^ (table[(crc ^ byte) & 0xff] ?? 0);
  return (crc ^ -1) >>> 0;
}

const table = Int32Array.from({ length: 256 }, (_, n) => {
  let value = n;
  for (let i = 0; i < 8; i += 1) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1;
  return value | 0;
});
