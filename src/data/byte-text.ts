import { assert } from '../base/assert.ts';

/** Puts a text of one character a byte (a key of the state) into a buffer that has room for it. */
export function putByteText(bytes: Buffer, start: number, text: string): void {
  if (text.length > 48) {
    bytes.write(text, start, 'latin1');
    return;
  }
  let all = 0;
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    all |= code;
    bytes[start + index] = code;
  }
  assert(all < 256, 'a state key holds a character that is no byte');
}
