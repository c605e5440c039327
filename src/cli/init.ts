import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Command, usageError } from './command.ts';
import { initTemplate } from './init-templates.ts';

/** Writes a pipeline to begin with. Invariant: a file that is there already is never written over. */
export const init: Command = {
  name: 'init',
  summary: 'write a commented pipeline, its configuration and sample records that run at once',
  arguments: '[DIR]',
  example: 'tidemark init orders --bronze',
  flags: {
    bronze: {
      type: 'boolean',
      doc: 'A raw table that keeps every record, and a table that can always be refreshed from it.',
    },
  },
  usesConfig: false,
  run: (invocation) => {
    const { positionals, terminal } = invocation;
    if (positionals.length > 1) throw usageError('init takes one directory');
    const directory = positionals[0] ?? '.';
    const files = initTemplate(invocation.isSet('bronze'));
    const taken = files.filter(({ name }) => existsSync(join(directory, name)));
    if (taken.length > 0) {
      throw usageError(
        `${taken.map(({ name }) => join(directory, name)).join(', ')} is there already`,
        'Name another directory: tidemark init DIR',
      );
    }
    try {
      mkdirSync(directory, { recursive: true });
      for (const { name, text } of files) writeFileSync(join(directory, name), text);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      throw usageError(`directory "${directory}" cannot be written (${code})`);
    }
    const written = files.map(({ name }) => join(directory, name));
    if (invocation.json) invocation.printJson({ files: written });
    else {
      terminal.out(`written: ${written.join(', ')}\n`);
      terminal.out(
        `next: tidemark try ${join(directory, 'pipeline.sql')} --input orders=${join(directory, 'orders.jsonl')}\n`,
      );
    }
    return Promise.resolve(0);
  },
};
