import { afterEach, describe, expect, test } from 'vitest';
import { environmentName, flagName, optionDeclarations } from '../../../src/config/options.ts';
import { CliFolder, runCli } from '../../support/run-cli.ts';

const folders: CliFolder[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) folder.remove();
});

function fileWith(text: string, name = 'tidemark.yaml'): string {
  const folder = new CliFolder();
  folders.push(folder);
  return folder.write(name, text);
}

describe('configuration', () => {
  test('every fault is told at once, each with its option, its origin and the nearest name', async () => {
    const file = fileWith(
      'kafka:\n  broker: [localhost:9092]\n  compresion: lz4\ncommit:\n  intervalMs: soon\n',
    );
    const { code, out, err } = await runCli(['config', '--config', file, '--delivery', 'twice'], {
      TIDEMARK_STATE_CACHE_BYTES: '1',
      TIDEMARK_PIPELINE_NAME: 'no spaces',
    });
    expect(code).toBe(2);
    expect(out).toBe('');
    expect(err).toContain(
      `kafka.broker (from ${file}): there is no such option; did you mean kafka.brokers?\n`,
    );
    expect(err).toContain(
      'kafka.compresion (from ' +
        file +
        '): there is no such option; did you mean kafka.compression?',
    );
    expect(err).toContain(`commit.intervalMs (from ${file}): it has to be a whole number`);
    expect(err).toContain(
      'delivery (from --delivery): it has to be one of exactly_once, at_least_once',
    );
    expect(err).toContain(
      'state.cacheBytes (from TIDEMARK_STATE_CACHE_BYTES): it has to be a whole number from 1048576',
    );
    expect(err).toContain('pipeline.name: only letters');
  });

  test('FL-19 a pipeline name has no dot, which would make one group of flow "y.z" of "nx" and flow "z" of "nx.y"', async () => {
    const { code, err } = await runCli(['config', '--pipeline.name', 'nx.y']);
    expect(code).toBe(2);
    expect(err).toContain('a dot parts it from the flow in the names of groups and topics');
    expect((await runCli(['config', '--pipeline.name', 'nx-y_1'])).code).toBe(0);
  });

  test('what looks like a number in the file is the text that stands there, and a number where one is asked for', async () => {
    const file = fileWith(
      'pipeline: {name: 010}\nkafka: {clientId: 1e3, brokers: [h:9092]}\nhttp: {port: 0x1F90}\ncommit: {intervalMs: 1e3}\n',
    );
    const { out } = await runCli(['config', '--config', file, '--json']);
    expect(JSON.parse(out)).toMatchObject({
      'pipeline.name': '010',
      'kafka.clientId': '1e3',
      'http.port': 8080,
      'commit.intervalMs': 1000,
    });
  });

  test('a secret in the file: where else it may stand is told', async () => {
    const file = fileWith('redis: {url: "redis://h:6379"}\nhttp: {token: x}\n');
    const { err } = await runCli(['config', '--config', file]);
    expect(err).toContain('into this file; use TIDEMARK_REDIS_URL or redis.urlFile.\n');
    expect(err).toContain('into this file; use TIDEMARK_HTTP_TOKEN or http.tokenFile.\n');
  });

  test.each(['foo:99999', 'foo:0', 'foo'])(
    '%s is no broker, and the option is named',
    async (broker) => {
      const { code, err } = await runCli(['config', '--kafka.brokers', broker]);
      expect(code).toBe(2);
      expect(err).toContain(`kafka.brokers: "${broker}" is no host:port with a port of 1 to 65535`);
    },
  );

  test('a flag wins over the environment, and that over the file', async () => {
    const file = fileWith(
      'commit: {intervalMs: 300}\nretry: {delayMinMs: 5}\npipeline: {name: a}\n',
    );
    const { code, out } = await runCli(
      ['config', '--config', file, '--json', '--commit.interval-ms', '100'],
      { TIDEMARK_COMMIT_INTERVAL_MS: '200', TIDEMARK_PIPELINE_NAME: 'b' },
    );
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({
      'commit.intervalMs': 100,
      'pipeline.name': 'b',
      'retry.delayMinMs': 5,
    });
  });

  test.each([
    ['what the flag says holds', ['--retry.start-timeout-ms', '1'], {}, 'within 0.001 s'],
    [
      'who waits for an answer hears within 10 s',
      ['--retry.delay-min-ms', '20000'],
      {},
      'within 10 s',
    ],
    [
      'the patience of a service is not that of who asks in its pod',
      ['--retry.delay-min-ms', '20000'],
      { TIDEMARK_RETRY_START_TIMEOUT_MS: '1800000' },
      'within 10 s',
    ],
    [
      'less than that holds',
      ['--retry.delay-min-ms', '20000'],
      { TIDEMARK_RETRY_START_TIMEOUT_MS: '2' },
      'within 0.002 s',
    ],
  ])('Kafka is not there: %s', async (_, flags, environment, told) => {
    const { code, err } = await runCli(
      ['gaps', '--pipeline.name', 'p', '--kafka.brokers', '127.0.0.1:1', ...flags].concat(
        flags.includes('--retry.delay-min-ms') ? ['--retry.delay-max-ms', '20000'] : [],
      ),
      environment,
    );
    expect(code).toBe(1);
    expect(err).toContain(told);
  });

  test('the answer has every option, and people see its environment name and flag', async () => {
    const { out } = await runCli(['config', '--json']);
    expect(Object.keys(JSON.parse(out) as object)).toEqual(
      optionDeclarations.map(({ name }) => name),
    );
    const { out: text } = await runCli(['config']);
    for (const { name } of optionDeclarations) {
      expect(text).toContain(environmentName(name));
      expect(text).toContain(flagName(name));
    }
  });
});

test('config --help lists every option with what it takes', async () => {
  const { code, out } = await runCli(['config', '--help']);
  expect(code).toBe(0);
  for (const { name, doc } of optionDeclarations) {
    expect(out).toContain(`\n  ${name} (`);
    expect(out).toContain(doc);
  }
  expect(out).toContain('kafka.compression (none | gzip | snappy | lz4 | zstd; default lz4)');
  expect(out).toContain('redis.url (text; not set)');
});

describe('secrets', () => {
  const secrets = optionDeclarations.filter(({ secret }) => secret === true);

  test.each(secrets)('$name is masked, and no flag', async ({ name }) => {
    const value = 'redis://user:hunter2@example.org';
    const environment = { [environmentName(name)]: value };
    for (const json of [[], ['--json']]) {
      const { code, out, err } = await runCli(['config', ...json], environment);
      expect(code).toBe(0);
      expect(out + err).not.toContain('hunter2');
      expect(out).toContain('***');
      expect(out).not.toContain(`${flagName(name)}\n`);
    }
    const { code, err } = await runCli(['config', flagName(name), value]);
    expect(code).toBe(2);
    expect(err).toContain(`unknown option '${flagName(name)}'`);
    expect(err).not.toContain('hunter2');
  });

  test('a secret in the file is refused without being shown', async () => {
    const file = fileWith('redis:\n  url: redis://user:hunter2@example.org\n');
    const { code, err } = await runCli(['config', '--config', file]);
    expect(code).toBe(2);
    expect(err).toContain('a secret does not belong into this file; use TIDEMARK_REDIS_URL');
    expect(err).not.toContain('hunter2');
  });

  test('a secret comes from a file of its own', async () => {
    const path = fileWith('hunter2\n', 'password');
    const { code, out } = await runCli([
      'config',
      '--json',
      '--kafka.sasl-mechanism',
      'plain',
      '--kafka.sasl-password-file',
      path,
    ]);
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({ 'kafka.saslPassword': '***' });
    expect(out).not.toContain('hunter2');
  });
});
