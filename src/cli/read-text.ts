import { isUtf8 } from 'node:buffer';
import { readFileSync } from 'node:fs';
import type { FlowError } from '../base/errors.ts';
import { usageError } from './command.ts';

/** The text of a file that somebody named, without the mark that some editors put before it. */
export function readText(path: string): string {
  let bytes: Buffer;
  try {
    bytes = readFileSync(path);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? 'error';
    throw usageError(`file "${path}" cannot be read (${code})`);
  }
  const text = bytes.toString('utf8');
  if (!isUtf8(bytes)) throw notUtf8(path, bytes, text);
  return text.replace(/^\ufeff/, '');
}

/** Where the two differ first: the byte that is none of a character became another one. */
function notUtf8(path: string, bytes: Buffer, text: string): FlowError {
  const again = Buffer.from(text, 'utf8');
  const at = again.findIndex((byte, index) => byte !== bytes[index]);
  const lines = bytes.toString('latin1', 0, at).split('\n');
  const last = bytes.subarray(bytes.lastIndexOf(10, at - 1) + 1, at).toString('utf8');
  return usageError(
    `file "${path}" is no UTF-8 at line ${lines.length}, column ${last.length + 1} (byte ${at})`,
    'Save it as UTF-8: what is in another encoding would go into the rows as replacement characters.',
  );
}
