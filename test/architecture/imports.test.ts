import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { expect, test } from 'vitest';

const root = resolve(import.meta.dirname, '../../src');

const pure = ['base', 'data', 'sql', 'expr', 'ports', 'plan', 'operators', 'task', 'refresh'];
const runtimeAndBelow = [...pure, 'runtime'];
const all = [...runtimeAndBelow, 'config', 'api', 'testing', 'adapters'];

/** What each folder of src may import, beside itself. A folder that is missing here may not exist. */
const allowed: Readonly<Record<string, readonly string[]>> = {
  base: [],
  config: ['base'],
  data: ['base'],
  sql: ['base', 'data'],
  api: ['sql', 'data', 'base'],
  ports: ['base', 'data'],
  expr: ['base', 'data'],
  adapters: ['ports', 'data', 'base'],
  plan: ['sql', 'expr', 'data', 'base'],
  operators: ['ports', 'expr', 'data', 'base'],
  refresh: ['plan', 'ports', 'data', 'base'],
  task: ['operators', 'plan', 'expr', 'ports', 'data', 'base'],
  runtime: ['task', 'refresh', 'plan', 'ports', 'data', 'base'],
  testing: [...runtimeAndBelow, 'adapters'],
  'compose.ts': [...all],
  // The module that pipelines in TypeScript import is handed to them.
  cli: [...all, 'compose.ts', 'index.ts'],
  'index.ts': ['api', 'testing', 'data'],
  'main.ts': ['cli', 'config', 'base'],
};

/** The only package that a pure folder may import. */
const packagesOfPure: Readonly<Record<string, readonly string[]>> = { sql: ['chevrotain'] };

function* importsOf(file: string): Generator<string> {
  const text = readFileSync(file, 'utf8');
  const patterns = [
    /^(?:import|export)\b[^;'"]*?\bfrom '([^']+)'/gm,
    /^import '([^']+)'/gm,
    /\bimport\('([^']+)'\)/g,
  ];
  for (const pattern of patterns) {
    for (const match of text.matchAll(pattern)) if (match[1] !== undefined) yield match[1];
  }
}

const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((name) =>
  name.endsWith('.ts'),
);

/** Adapters stand apart: none imports another. */
function unit(path: string): string {
  const parts = path.split('/');
  return parts[0] === 'adapters' ? `adapters/${parts[1]}` : (parts[0] ?? '');
}

function isBroken(name: string, specifier: string): boolean {
  const folder = name.split('/')[0] ?? '';
  if (!specifier.startsWith('.')) {
    return pure.includes(folder) && !packagesOfPure[folder]?.includes(specifier);
  }
  const target = relative(root, resolve(dirname(join(root, name)), specifier));
  if (target.startsWith('..')) return true;
  if (unit(target) === unit(name)) return false;
  const targetFolder = target.split('/')[0] ?? '';
  if (folder === 'testing' && targetFolder === 'adapters') {
    return unit(target) !== 'adapters/memory';
  }
  return !allowed[folder]?.includes(targetFolder);
}

test.each(files)('%s imports only what its folder may', (name) => {
  const broken = [...importsOf(join(root, name))].filter((specifier) => isBroken(name, specifier));
  expect(broken).toEqual([]);
});
