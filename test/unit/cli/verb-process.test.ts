import { afterEach, describe, expect, test } from 'vitest';
import { FlowError } from '../../../src/base/errors.ts';
import { errorText } from '../../../src/cli/exit-code.ts';
import { environmentOf, readError, VerbProcesses } from '../../../src/cli/verb-process.ts';
import { loadConfig } from '../../../src/config/load-config.ts';

const given = new Map([
  ['pipeline.name', 'p'],
  ['kafka.brokers', 'a:1,b:2'],
  ['commit.intervalMs', '250'],
]);

describe('a verb in a process of its own', () => {
  test('has the configuration of the process that starts it', () => {
    const config = loadConfig({ file: undefined, environment: {}, flags: given });
    const again = loadConfig({
      file: undefined,
      environment: environmentOf(config),
      flags: new Map(),
    });
    expect(again).toEqual(config);
  });

  test('its error is read as it was thrown', () => {
    const error = new FlowError('DATA_LOSS_REFUSED', 'rows would be lost', {
      detail: 'Two lines\nof detail.',
      hint: 'Look first.',
    });
    const read = readError(`scanning partition 1 of 2\n${errorText(error)}`);
    expect(read).toMatchObject({ code: error.code, message: error.message });
    expect([read?.detail, read?.hint]).toEqual([error.detail, error.hint]);
    expect(readError('error NO_SUCH_CODE: x\n')).toBeUndefined();
  });
});

const entry = process.argv[1];
afterEach(() => {
  process.argv[1] = entry ?? '';
});

test('what it prints is given, and it does not outlive whoever started it', async () => {
  const config = loadConfig({ file: undefined, environment: {}, flags: given });
  process.argv[1] = new URL('../../../src/main.ts', import.meta.url).pathname;
  const execArgv = process.execArgv.splice(0, process.execArgv.length, '--import', 'tsx');
  const verbs = new VerbProcesses(config, []);
  const told = await verbs.start(['validate', '/nowhere/at-all.sql']).ended;
  const late = verbs.start(['status', '--watch', '--kafka.brokers', '127.0.0.1:1']);
  await verbs.close();
  process.execArgv.splice(0, process.execArgv.length, ...execArgv);
  expect(told.exitCode).not.toBe(0);
  expect(told.error?.code).toBe('USAGE');
  expect((await late.ended).exitCode).not.toBe(0);
}, 30_000);
