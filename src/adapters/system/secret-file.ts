import { readFileSync } from 'node:fs';
import { FlowError } from '../../base/errors.ts';

/**
 * What stands in a file as of the moment it is asked for: certificates, keys and passwords are renewed while a service
 * runs, and each new connection has to use those of today. Invariant: a file that cannot be read is an error the first
 * time; later, as while it is being replaced, what was read last is given.
 */
export function secretFile(path: string, option: string): () => Buffer {
  let bytes: Buffer;
  try {
    bytes = readFileSync(path);
  } catch {
    throw new FlowError('CONFIG_INVALID', `the file of option ${option} cannot be read`, {
      detail: `It is ${path}.`,
    });
  }
  return () => {
    try {
      bytes = readFileSync(path);
    } catch {
      // It is being replaced, or gone: whoever connects finds out whether the former one will do.
    }
    return bytes;
  };
}
