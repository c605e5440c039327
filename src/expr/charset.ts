import { ExpressionError } from './expression-error.ts';

/** Text to bytes and back in the character sets that Spark allows. */
export function encodeText(text: string, charset: string): Uint8Array {
  switch (charset.toUpperCase()) {
    case 'UTF-8':
      return Buffer.from(text, 'utf8');
    case 'UTF-16':
      return Buffer.concat([Buffer.from([0xfe, 0xff]), bigEndian(text)]);
    case 'UTF-16BE':
      return bigEndian(text);
    case 'UTF-16LE':
      return Buffer.from(text, 'utf16le');
    case 'UTF-32':
      return utf32(text);
    case 'US-ASCII':
      return single(text, 0x7f);
    case 'ISO-8859-1':
      return single(text, 0xff);
    default:
      throw unknownCharset(charset);
  }
}

export function decodeText(bytes: Uint8Array, charset: string): string {
  const buffer = Buffer.from(bytes);
  switch (charset.toUpperCase()) {
    case 'UTF-8': {
      const text = buffer.toString('utf8');
      if (!Buffer.from(text, 'utf8').equals(buffer)) throw malformed(charset);
      return text;
    }
    case 'UTF-16':
      if (buffer[0] === 0xff && buffer[1] === 0xfe) return utf16(buffer.subarray(2), charset);
      if (buffer[0] === 0xfe && buffer[1] === 0xff) {
        return utf16(swapped(buffer.subarray(2), charset), charset);
      }
      return utf16(swapped(buffer, charset), charset);
    case 'UTF-16BE':
      return utf16(swapped(buffer, charset), charset);
    case 'UTF-16LE':
      return utf16(buffer, charset);
    case 'UTF-32':
      return fromUtf32(buffer, charset);
    case 'US-ASCII':
      if (buffer.some((byte) => byte > 0x7f)) throw malformed(charset);
      return buffer.toString('latin1');
    case 'ISO-8859-1':
      return buffer.toString('latin1');
    default:
      throw unknownCharset(charset);
  }
}

function unknownCharset(charset: string): ExpressionError {
  return new ExpressionError(
    'INVALID_PARAMETER_VALUE.CHARSET',
    `there is no character set '${charset}': take UTF-8, UTF-16, UTF-16BE, UTF-16LE, UTF-32, US-ASCII or ISO-8859-1`,
  );
}

function malformed(charset: string): ExpressionError {
  return new ExpressionError(
    'MALFORMED_CHARACTER_CODING',
    `the value can't be written or read as ${charset}`,
  );
}

function bigEndian(text: string): Buffer {
  return Buffer.from(text, 'utf16le').swap16();
}

function swapped(bytes: Buffer, charset: string): Buffer {
  if (bytes.length % 2 !== 0) throw malformed(charset);
  return Buffer.from(bytes).swap16();
}

function utf16(bytes: Buffer, charset: string): string {
  const text = bytes.toString('utf16le');
  if (bytes.length % 2 !== 0 || /\p{Cs}/u.test(text)) throw malformed(charset);
  return text;
}

function utf32(text: string): Uint8Array {
  const points = Array.from(text, (character) => character.codePointAt(0) ?? 0);
  const out = Buffer.alloc(points.length * 4);
  points.forEach((point, i) => {
    out.writeUInt32BE(point, i * 4);
  });
  return out;
}

function fromUtf32(bytes: Buffer, charset: string): string {
  if (bytes.length % 4 !== 0) throw malformed(charset);
  let text = '';
  for (let at = 0; at < bytes.length; at += 4) {
    const point = bytes.readUInt32BE(at);
    if (point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff)) throw malformed(charset);
    if (at > 0 || point !== 0xfeff) text += String.fromCodePoint(point);
  }
  return text;
}

function single(text: string, most: number): Uint8Array {
  for (const character of text) {
    if ((character.codePointAt(0) ?? 0) > most)
      throw malformed(most === 0x7f ? 'US-ASCII' : 'ISO-8859-1');
  }
  return Buffer.from(text, 'latin1');
}
