import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { documents, renderDocument } from '../../../scripts/write-docs.ts';
import { commands } from '../../../src/cli/commands.ts';
import { planPipeline } from '../../../src/plan/plan-pipeline.ts';

const root = resolve(import.meta.dirname, '../../..');
const pages = [
  'README.md',
  'src/README.md',
  'bench/README.md',
  ...readdirSync(join(root, 'docs'))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
];

function read(page: string): string {
  return readFileSync(join(root, page), 'utf8');
}

test.each(documents)('%s has what the code says now (else: npm run docs)', (document) => {
  const text = read(document);
  expect(text).toContain('<!-- made: ');
  expect(renderDocument(text)).toBe(text);
});

test.each(pages)('every file that %s links to is there', (page) => {
  const links = [...read(page).matchAll(/\]\((?!https?:)([^)#\s]+)[^)]*\)/g)].map(
    ([, link]) => link ?? '',
  );
  const missing = links.filter((link) => !existsSync(join(root, dirname(page), link)));
  expect(missing).toEqual([]);
});

test.each(pages)('every file of the source that %s names is there', (page) => {
  const names = [...read(page).matchAll(/`((?:src|scripts|bench|test|examples|docs)\/[\w./-]+)`/g)];
  const missing = names
    .map(([, name]) => name ?? '')
    .filter((name) => !existsSync(join(root, name)));
  expect(missing).toEqual([]);
});

test('every file that src/README.md names within its rooms is there', () => {
  const names = [...read('src/README.md').matchAll(/`([a-z]+\/[\w/-]+\.ts)`/g)].map(
    ([, name]) => name ?? '',
  );
  const places = ['src', 'src/adapters/kafka', '.'];
  const missing = names.filter(
    (name) => !places.some((place) => existsSync(join(root, place, name))),
  );
  expect(names.length).toBeGreaterThan(20);
  expect(missing).toEqual([]);
});

describe('SQL in the documents', () => {
  const blocks = pages.flatMap((page) =>
    [...read(page).matchAll(/```sql\n([\s\S]*?)```/g)].map(
      ([, sql], index) => [`${page} #${index + 1}`, sql ?? ''] as const,
    ),
  );

  test('there is some', () => {
    expect(blocks.length).toBeGreaterThan(3);
  });

  test.each(blocks)('%s is a valid pipeline', (name, sql) => {
    const { faults } = planPipeline([{ file: name, text: sql }]);
    expect(faults.filter(({ severity }) => severity === 'error')).toEqual([]);
  });
});

test('README.md names every verb', () => {
  const text = read('README.md');
  for (const { name } of commands) expect(text).toMatch(new RegExp(`\`${name}\\b`));
});
