import { spawnSync } from 'node:child_process';
import { resolve } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { CliFolder } from '../../support/run-cli.ts';

const gate = resolve(import.meta.dirname, '../../../helm/tidemark/files/gate.mjs');
const folders: CliFolder[] = [];

afterEach(() => {
  for (const folder of folders.splice(0)) folder.remove();
});

type Image = {
  /** Exit code of `validate`. */
  readonly validate: number;
  /** Exit code of `plan`; undefined: this image has no such verb. */
  readonly plan?: number;
  /** That of `plan` once a refresh was made; else as before. */
  readonly planAfter?: number;
  readonly refresh?: number;
};

/** Runs the gate against a command line that ends as it is told. */
function pass(image: Image, settings: Readonly<Record<string, string>> = {}) {
  const folder = new CliFolder();
  folders.push(folder);
  const main = folder.write(
    'main.mjs',
    `import { existsSync, writeFileSync } from 'node:fs';
     const [verb, flag, ...more] = process.argv.slice(2);
     console.log(['ran', verb, flag ?? '', ...more].join(' '));
     const mark = import.meta.filename + '.refreshed';
     if (verb === 'refresh') {
       writeFileSync(mark, '');
       process.exit(${image.refresh ?? 2});
     }
     if (existsSync(mark)) process.exit(${image.planAfter ?? image.plan ?? 2});
     if (verb === 'validate') process.exit(${image.validate});
     if (${image.plan === undefined}) process.exit(2);
     process.exit(flag === '--help' ? 0 : ${image.plan ?? 2});`,
  );
  const { status, stdout, stderr } = spawnSync(process.execPath, [gate], {
    encoding: 'utf8',
    env: { ...process.env, TIDEMARK_MAIN: main, ...settings },
  });
  return { status, out: stdout, err: stderr };
}

test('an invalid pipeline is refused with the code of validate, and nothing else is tried', () => {
  const { status, out, err } = pass({ validate: 3, plan: 0 });
  expect(status).toBe(3);
  expect(err).toContain('refused');
  expect(out).toBe('ran validate \n');
});

test('an image that cannot plan passes, and says that nobody looked at losses', () => {
  const { status, err } = pass({ validate: 0 });
  expect(status).toBe(0);
  expect(err).toContain('was not looked at');
});

test('where planning is required, such an image is refused', () => {
  expect(pass({ validate: 0 }, { GATE_PLAN: 'required' }).status).toBe(1);
});

test('a change that can be made passes', () => {
  const { status, out } = pass({ validate: 0, plan: 0 }, { GATE_START_TIMEOUT_MS: '1800000' });
  expect(status).toBe(0);
  // As patient as the pods: what they wait for may come up with the release.
  expect(out).toContain('ran plan --effect --retry.start-timeout-ms 1800000\n');
});

test('a change that would lose data is refused, and says what has it made', () => {
  const { status, out, err } = pass({ validate: 0, plan: 4 });
  expect(status).toBe(4);
  expect(err).toContain('would lose data');
  expect(err).toContain('gate.refresh');
  expect(out).not.toContain('ran refresh');
});

test('a plan that fails is refused', () => {
  const { status, err } = pass({ validate: 0, plan: 1 });
  expect(status).toBe(1);
  expect(err).toContain('run would fail as plan says');
});

const asked = { GATE_REFRESH: '["t","--in-place"]' };

test.each([1, 4])(
  'a refresh that is asked for is made where plan ends with %i, and plan is asked again',
  (plan) => {
    const { status, out } = pass({ validate: 0, plan, refresh: 0, planAfter: 0 }, asked);
    expect(status).toBe(0);
    expect(out).toMatch(
      /ran plan --effect [^\n]+\nran refresh t --in-place\nran plan --effect [^\n]+\n$/,
    );
  },
);

test('no refresh is made where plan has nothing to refuse, or refuses what no refresh mends', () => {
  for (const plan of [0, 2, 3]) {
    const { status, out } = pass({ validate: 0, plan, refresh: 0 }, asked);
    expect(status).toBe(plan);
    expect(out).not.toContain('ran refresh');
  }
});

test('a refresh that fails, or that leaves plan something to refuse, refuses the change', () => {
  const failed = pass({ validate: 0, plan: 1, refresh: 4 }, asked);
  expect(failed.status).toBe(4);
  expect(failed.err).toContain('the release was not changed');
  expect(pass({ validate: 0, plan: 1, refresh: 0, planAfter: 1 }, asked).status).toBe(1);
});

test('never planning asks for nothing but validity', () => {
  const { status, out } = pass({ validate: 0, plan: 4 }, { GATE_PLAN: 'never' });
  expect(status).toBe(0);
  expect(out).not.toContain('plan');
});
