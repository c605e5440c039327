import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const folder = join(import.meta.dirname, '../../src/sql');

test('the parser library is loaded in one place only, so that there are no two copies of it and no slow start', () => {
  const loaders = readdirSync(folder).filter((file) => {
    const text = readFileSync(join(folder, file), 'utf8');
    const imports = text.match(/^import [^;]*? from 'chevrotain';$/gm) ?? [];
    return imports.some((line) => !line.startsWith('import type '));
  });
  expect(loaders).toEqual([]);
});
