import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { CliFolder, runCli } from '../support/run-cli.ts';
import { ServiceWorld } from '../support/service-world.ts';
import { type PrivateRedis, startPrivateRedis } from '../support/services.ts';

/** With characters that a URL has to escape: neither form may be seen. */
const secrets = {
  redis: 'Redis/S3cret+%',
  wrong: 'Wr0ng/S3cret+%',
  sasl: 'Sasl-S3cret',
  token: 'T0ken-S3cret-for-the-interface',
} as const;

const spellings = Object.values(secrets).flatMap((secret) => [
  secret,
  encodeURIComponent(secret),
  Buffer.from(secret).toString('base64'),
]);

let dir: string;
let redis: PrivateRedis;

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'tidemark-credentials-'));
  for (const [name, secret] of Object.entries(secrets)) writeFileSync(join(dir, name), secret);
  redis = await startPrivateRedis(['--requirepass', secrets.redis]);
});

afterAll(async () => {
  await redis.stop();
  rmSync(dir, { recursive: true, force: true });
});

function urlWith(password: string): string {
  return redis.url.replace('redis://', `redis://:${encodeURIComponent(password)}@`);
}

function expectNoSecret(text: string): void {
  for (const spelling of spellings) expect(text).not.toContain(spelling);
}

test('credentials are in no log line, no metric and no answer of a service, also while it loses Redis', async () => {
  const world = await ServiceWorld.open({
    brokers: inject('kafkaBrokers'),
    redisUrl: urlWith(secrets.redis),
    options: {
      'http.enabled': 'true',
      'http.port': 0,
      'http.tokenFile': join(dir, 'token'),
      'log.level': 'debug',
      'redis.commandTimeoutMs': 1_000,
    },
  });
  try {
    const service = world.service('worker-1').start();
    const serving = await service.sees('its port', ({ msg }) => msg === 'serving HTTP');
    const port = Number(serving['port']);
    await world.rows(0, ['EU', 'a', 1, 1]);
    await world.caughtUp();
    const answers = async (): Promise<string> => {
      const paths = ['/metrics', '/healthz', '/readyz', '/v1/pipeline', '/v1/flows', '/v1/events'];
      const texts = paths.map(async (path) => {
        const headers = { authorization: `Bearer ${secrets.token}` };
        const answer = await fetch(`http://127.0.0.1:${port}${path}`, { headers });
        return `${path} ${answer.status}\n${await answer.text()}`;
      });
      return (await Promise.all(texts)).join('\n');
    };
    const before = await answers();
    expect(before).toContain('tidemark_commits_total');
    expect(before).toContain('/v1/events 200');
    await redis.kill();
    await world.rows(0, ['EU', 'b', 1, 2]);
    await service.sees('that Redis is away', ({ code }) => code === 'STATE_UNAVAILABLE');
    const during = await answers();
    await redis.restart();
    await world.caughtUp();
    await service.end();
    expectNoSecret(before + during + service.tail(100_000) + service.stdout);
    expect((await world.check()).differences).toEqual([]);
  } finally {
    await world.close();
  }
});

test('credentials are in no error and no answer of the command line', async () => {
  const folder = new CliFolder();
  try {
    const sql = folder.write(
      'p.sql',
      'CREATE SOURCE s (k STRING, seq BIGINT); CREATE STREAMING TABLE t FLOW REPLACE USING (k) SEQUENCE BY seq BY NAME SELECT k, seq FROM STREAM(s);',
    );
    const shared = {
      TIDEMARK_PIPELINE_NAME: 'credentials',
      TIDEMARK_PIPELINE_FILES: sql,
      TIDEMARK_KAFKA_BROKERS: inject('kafkaBrokers'),
      TIDEMARK_STATE_KIND: 'redis',
      TIDEMARK_RETRY_START_TIMEOUT_MS: '0',
      TIDEMARK_HTTP_TOKEN_FILE: join(dir, 'token'),
      TIDEMARK_REDIS_URL: urlWith(secrets.wrong),
    };
    const sasl = {
      TIDEMARK_KAFKA_SASL_MECHANISM: 'plain',
      TIDEMARK_KAFKA_SASL_USERNAME: 'alice',
      TIDEMARK_KAFKA_SASL_PASSWORD_FILE: join(dir, 'sasl'),
    };
    const shown = await runCli(['config', '--json'], { ...shared, ...sasl });
    expect(shown).toMatchObject({ code: 0, out: expect.stringContaining('***') });
    const refused = await runCli(['run', '--once'], shared);
    expect(refused.code).toBe(1);
    expect(refused.err).toContain('NOT_AUTHORIZED');
    const unheard = await runCli(['status'], { ...shared, ...sasl });
    expect(unheard.code).toBe(1);
    const broken = folder.write(
      'tidemark.yaml',
      `redis:\n  url: redis://:${secrets.redis}@x\n bad`,
    );
    const unread = await runCli(['config', '--config', broken], {});
    expect(unread.code).toBe(2);
    for (const { out, err } of [shown, refused, unheard, unread]) expectNoSecret(out + err);
  } finally {
    folder.remove();
  }
});
