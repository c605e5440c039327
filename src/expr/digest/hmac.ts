import { md5 } from './md5.ts';
import { sha1 } from './sha1.ts';
import { sha2 } from './sha2.ts';

/** HMAC (RFC 2104) with the digest of a name; undefined for a name that is none. */
export function hmac(
  key: Uint8Array,
  message: Uint8Array,
  algorithm: string,
): Uint8Array | undefined {
  const found = digests[algorithm.toUpperCase().replace(/^SHA-?/, 'SHA')];
  if (found === undefined) return undefined;
  const { digest, block } = found;
  const short = key.length > block ? digest(key) : key;
  const padded = Buffer.alloc(block);
  padded.set(short);
  const inner = Buffer.concat([padded.map((byte) => byte ^ 0x36), message]);
  return digest(Buffer.concat([padded.map((byte) => byte ^ 0x5c), digest(inner)]));
}

type Digest = (bytes: Uint8Array) => Uint8Array;

function ofHex(digest: (bytes: Uint8Array) => string): Digest {
  return (bytes) => Buffer.from(digest(bytes), 'hex');
}

const digests: Readonly<Record<string, { readonly digest: Digest; readonly block: number }>> = {
  MD5: { digest: ofHex(md5), block: 64 },
  SHA1: { digest: ofHex(sha1), block: 64 },
  SHA224: { digest: ofHex((bytes) => sha2(bytes, 224) ?? ''), block: 64 },
  SHA256: { digest: ofHex((bytes) => sha2(bytes, 256) ?? ''), block: 64 },
  SHA384: { digest: ofHex((bytes) => sha2(bytes, 384) ?? ''), block: 128 },
  SHA512: { digest: ofHex((bytes) => sha2(bytes, 512) ?? ''), block: 128 },
};
