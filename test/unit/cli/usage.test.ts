import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { commands } from '../../../src/cli/commands.ts';
import { runCli } from '../../support/run-cli.ts';

const verbs = commands.map(({ name }) => name);

describe('help', () => {
  test.each(verbs)('tidemark %s --help has a usage line and an example of itself', async (verb) => {
    const { code, out, err } = await runCli([verb, '--help']);
    expect(code).toBe(0);
    expect(err).toBe('');
    expect(out).toContain(`Usage: tidemark ${verb}`);
    expect(out).toMatch(new RegExp(`Example:\n {2}tidemark ${verb}\\b`));
    expect(out).toContain('--json');
    expect((await runCli(['help', verb])).out).toBe(out);
  });

  test('the overview names every verb and every exit code', async () => {
    const { code, out } = await runCli(['--help']);
    expect(code).toBe(0);
    for (const verb of verbs) expect(out).toContain(`\n  ${verb} `);
    expect(out).toMatch(/0 done, 1 failed.*2 usage.*3 the pipeline.*4 refused.*5 a test case/);
  });

  test('no verb at all is a usage error that shows the overview', async () => {
    const { code, out } = await runCli([]);
    expect(code).toBe(2);
    expect(out).toContain('Verbs:');
  });
});

describe('usage errors: exit code 2, a message and a hint on standard error, nothing on standard output', () => {
  test.each(verbs)('an option that %s does not have', async (verb) => {
    const { code, out, err } = await runCli([verb, '--frobnicate']);
    expect(code).toBe(2);
    expect(out).toBe('');
    expect(err).toContain("unknown option '--frobnicate'");
    expect(err).toContain(`hint: tidemark ${verb} --help`);
  });

  test('an option without its value, and a switch with one, are told by name', async () => {
    const { code, err } = await runCli(['test', 'x', '--filter']);
    expect([code, err.split('\n')[0]]).toEqual([2, 'error USAGE: option --filter needs a value']);
    expect((await runCli(['run', '--accept-gap', '--once'])).err).toContain(
      'option --accept-gap needs a value',
    );
    expect((await runCli(['test', 'x', '--bail=yes'])).err).toContain(
      'option --bail takes no value',
    );
  });

  test('a verb that does not exist', async () => {
    const { code, err } = await runCli(['frobnicate']);
    expect(code).toBe(2);
    expect(err).toContain('there is no verb "frobnicate"');
    expect(err).toContain('hint: tidemark --help');
    expect((await runCli(['valdate'])).err).toContain('hint: Did you mean "validate"? tidemark');
  });

  test('an argument that begins with a hyphen: what to write is told, and works', async () => {
    const { code, err } = await runCli(['eval', '-9223372036854775808']);
    expect(code).toBe(2);
    expect(err).toContain(
      'hint: What begins with a hyphen and is no option goes after two: -- -1.',
    );
    expect((await runCli(['eval', '--', '-9223372036854775808'])).out).toContain(
      '-9223372036854775808',
    );
  });

  test('an option that is nearly right is told', async () => {
    const { code, err } = await runCli(['run', 'p.sql', '--onse']);
    expect(code).toBe(2);
    expect(err).toContain('hint: Did you mean --once? tidemark run --help');
  });

  test.each([
    [['validate'], 'no pipeline file'],
    [['explain'], 'no pipeline file'],
    [['run'], 'no pipeline file'],
    [['status'], 'no pipeline file'],
    [['get', 't', '1'], 'no pipeline file'],
    [['dump', 't'], 'no pipeline file'],
    [['get', 't'], 'a table and at least one key'],
    [['dump'], 'one table is needed'],
    [['dump', 't', 'u'], 'one table is needed'],
    [['dump', 't', '--format', 'xml'], '--format takes jsonl or csv'],
    [['dump', 't', '--format', 'csv', '--json'], 'exclude each other'],
    [['status', 'extra'], 'takes no arguments'],
    [['validate', 'missing.sql'], 'file "missing.sql" cannot be read (ENOENT)'],
    [['try', 'examples/regions/regions.sql'], 'no input is given'],
    [['try', 'x.sql', '--input', 'nonsense'], '--input takes TOPIC=FILE'],
    [['test'], 'no test case is found'],
    [['test', 'missing'], '"missing" does not exist'],
  ])('%j', async (args, message) => {
    const { code, out, err } = await runCli(args);
    expect(code).toBe(2);
    if (!args.includes('--json')) expect(out).toBe('');
    expect(err).toContain(message);
  });

  test.each([
    [['frobnicate', '--json'], 'USAGE', 'there is no verb "frobnicate"'],
    [['validate', '--json'], 'USAGE', 'no pipeline file is given'],
    [['validate', '--json', '--frobnicate'], 'USAGE', "unknown option '--frobnicate'"],
    [['run', 'p.sql', '--kafka.brokers', 'foo:99999', '--json'], 'USAGE', '"p.sql" cannot be read'],
    [['config', '--kafka.brokers', 'foo:99999', '--json'], 'CONFIG_INVALID', 'is invalid'],
  ])('with --json standard output has the error, too: %j', async (args, code, message) => {
    const told = await runCli(args);
    expect(told.code).toBe(2);
    const { error } = JSON.parse(told.out) as { error: Record<string, string> };
    expect(error).toMatchObject({ code });
    expect(error['message']).toContain(message);
    expect(told.err).toContain(`error ${code}: ${error['message']}`);
  });

  test('a --json behind two hyphens is an argument', async () => {
    expect((await runCli(['frobnicate', '--', '--json'])).out).toBe('');
  });

  test('files without a statement are no pipeline', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'tidemark-empty-'));
    try {
      const file = join(folder, 'p.sql');
      writeFileSync(file, '-- nothing yet\n');
      for (const verb of ['validate', 'explain']) {
        const { code, out, err } = await runCli([verb, file]);
        expect([code, out]).toEqual([3, '']);
        expect(err).toContain('error PIPELINE_INVALID: the pipeline has no statement\n');
        expect(err).toContain(`Read: "${file}".`);
      }
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  test('--partitions that is no number', async () => {
    const { code, err } = await runCli([
      'try',
      'examples/regions/regions.sql',
      '--input',
      'region_events=examples/regions/all.jsonl',
      '--partitions',
      'many',
    ]);
    expect(code).toBe(2);
    expect(err).toContain('--partitions takes a whole number from 1 to 1000');
  });
});

describe('tables and keys are looked up before anything is connected', () => {
  const base = ['--pipeline', 'examples/bookings/bookings.sql', '--kafka.brokers', '127.0.0.1:1'];

  test.each(['get', 'dump'])(
    '%s of a table that is written wrong names the nearest',
    async (verb) => {
      const { code, err } = await runCli([
        verb,
        'booking_current',
        ...(verb === 'get' ? ['1'] : []),
        ...base,
      ]);
      expect(code).toBe(2);
      expect(err).toContain('no table "booking_current"');
      expect(err).toContain('Did you mean "bookings_current"?');
    },
  );

  test.each([
    ['x', 'does not fit column "booking_id"'],
    ['{"booking_id":"x"}', 'does not fit column "booking_id"'],
    ['{"booking_id":1,"guest":"Ada"}', '"guest" is no key column'],
  ])('the key %s', async (key, message) => {
    const { code, err } = await runCli(['get', 'BOOKINGS_CURRENT', key, ...base]);
    expect(code).toBe(2);
    expect(err).toContain(message);
    expect(err).toContain('A key is written as {"booking_id":<bigint>}, or its plain value.');
  });

  test('brokers that nobody named', async () => {
    const { code, err } = await runCli(['get', 'bookings_current', '1', ...base.slice(0, 2)]);
    expect(code).toBe(2);
    expect(err).toContain('option kafka.brokers is missing');
    expect(err).toContain('TIDEMARK_KAFKA_BROKERS');
  });
});
