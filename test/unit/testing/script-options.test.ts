import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect, test } from 'vitest';

const root = resolve(import.meta.dirname, '../../..');
const scripts = ['simulate', 'chaos', 'crash', 'mutants', 'refresh-check', 'conformance'];

function run(script: string, ...args: readonly string[]) {
  const path = resolve(root, 'scripts', `${script}.ts`);
  const options = { cwd: root, encoding: 'utf8' } as const;
  return spawnSync(process.execPath, ['--import', 'tsx', path, ...args], options);
}

test.each(scripts)(
  'npm run %s: --help names every option, and what is none is told in a line',
  (script) => {
    const help = run(script, '--help');
    expect(help.stderr).toBe('');
    expect(help).toMatchObject({ status: 0 });
    expect(help.stdout).toContain(`npm run ${script} -- [options]: `);
    const text = readFileSync(resolve(root, 'scripts', `${script}.ts`), 'utf8');
    const declared = [...text.matchAll(/^ {2}'?([a-z-]+)'?: \{ type: /gm)].map(([, name]) => name);
    expect(declared.length).toBeGreaterThan(1);
    for (const name of declared) {
      expect(help.stdout).toMatch(new RegExp(`^  --${name} `, 'm'));
    }
    const unknown = run(script, '--bogus');
    expect(unknown).toMatchObject({
      status: 2,
      stdout: '',
      stderr: "Unknown option '--bogus' (--help tells what there is)\n",
    });
  },
);

test('npm run e2e:k8s: --help tells what it needs, and what is no option begins nothing', () => {
  const e2e = (option: string) => {
    const path = resolve(root, 'scripts/e2e-kubernetes.sh');
    return spawnSync('bash', [path, option], { cwd: root, encoding: 'utf8' });
  };
  expect(e2e('--help')).toMatchObject({ status: 0, stderr: '' });
  expect(e2e('--help').stdout).toMatch(/^ {2}--keep .*\n[\s\S]*^ {2}KUBECONFIG /m);
  expect(e2e('--bogus')).toMatchObject({
    status: 2,
    stdout: '',
    stderr: "Unknown option '--bogus' (--help tells what there is)\n",
  });
});

test.each([
  ['simulate', '--seeds', 'many', '--seeds takes a whole number from 1, not "many"'],
  ['simulate', '--shape', 'square', 'there is no shape "square"; there are plain, '],
  ['mutants', '--only', 'nothing', 'there is no mutant "nothing"'],
  ['chaos', '--minutes', '0', '--minutes takes a number above 0, not "0"'],
])('npm run %s %s %s ends before it does anything', (script, option, value, told) => {
  const { status, stdout, stderr } = run(script, option, value);
  expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
  expect(stderr.startsWith(told)).toBe(true);
});
