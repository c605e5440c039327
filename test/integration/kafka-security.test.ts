import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { SASLOptions } from 'kafkajs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type KafkaLogOptions, openKafkaLog } from '../../src/adapters/kafka/kafka-log.ts';
import { fillTopic, readTopic } from '../support/log-worker.ts';
import { freePort, type PrivateKafka, startPrivateKafka } from '../support/services.ts';

const login = 'org.apache.kafka.common.security';

describe('connections with TLS and SASL', () => {
  let kafka: PrivateKafka;
  let ports: { readonly plain: number; readonly sasl: number; readonly tls: number };
  let dir: string;
  let names = 0;

  beforeAll(async () => {
    dir = mkdtempSync(join(tmpdir(), 'tidemark-tls-'));
    const store = join(dir, 'broker.p12');
    const keytool = (...args: string[]) =>
      execFileSync('keytool', [...args, '-keystore', store, '-storepass', 'secret'], {
        stdio: 'ignore',
      });
    keytool(
      ...['-genkeypair', '-alias', 'broker', '-keyalg', 'RSA', '-storetype', 'PKCS12'],
      ...['-dname', 'CN=127.0.0.1', '-ext', 'SAN=IP:127.0.0.1', '-validity', '2'],
    );
    keytool('-exportcert', '-alias', 'broker', '-rfc', '-file', join(dir, 'broker.pem'));
    const [plain, controller, sasl, tls] = [
      await freePort(),
      await freePort(),
      await freePort(),
      await freePort(),
    ];
    ports = { plain, sasl, tls };
    const addresses = `PLAINTEXT://127.0.0.1:${plain},SASL://127.0.0.1:${sasl},TLS://127.0.0.1:${tls}`;
    kafka = await startPrivateKafka({
      port: plain,
      controllerPort: controller,
      formatArgs:
        '--add-scram SCRAM-SHA-512=[name=alice,password=wonder] --add-scram SCRAM-SHA-256=[name=alice,password=wonder]',
      settings: {
        listeners: `${addresses},CONTROLLER://127.0.0.1:${controller}`,
        'advertised.listeners': addresses,
        'listener.security.protocol.map':
          'PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SASL:SASL_PLAINTEXT,TLS:SASL_SSL',
        'sasl.enabled.mechanisms': 'PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER',
        ...loginModules('sasl'),
        ...loginModules('tls'),
        'ssl.keystore.location': store,
        'ssl.keystore.password': 'secret',
        'ssl.key.password': 'secret',
        // Sessions end soon, so that connections have to be renewed within a test.
        'connections.max.reauth.ms': '15000',
      },
    });
  });

  afterAll(async () => {
    await kafka.stop();
    rmSync(dir, { recursive: true, force: true });
  });

  function loginModules(listener: string): Readonly<Record<string, string>> {
    const name = (mechanism: string) => `listener.name.${listener}.${mechanism}.sasl.jaas.config`;
    return {
      [name('plain')]: `${login}.plain.PlainLoginModule required user_alice="wonder";`,
      [name('scram-sha-256')]: `${login}.scram.ScramLoginModule required;`,
      [name('scram-sha-512')]: `${login}.scram.ScramLoginModule required;`,
      [name('oauthbearer')]:
        `${login}.oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="alice";`,
    };
  }

  /** A token without a signature, as a broker with its default, insecure, handler takes it. */
  function unsecuredToken(): string {
    const encode = (part: unknown) => Buffer.from(JSON.stringify(part)).toString('base64url');
    const now = Math.floor(Date.now() / 1000);
    return `${encode({ alg: 'none' })}.${encode({ sub: 'alice', iat: now, exp: now + 60 })}.`;
  }

  const mechanisms: Readonly<Record<string, SASLOptions>> = {
    plain: { mechanism: 'plain', username: 'alice', password: 'wonder' },
    'scram-sha-256': { mechanism: 'scram-sha-256', username: 'alice', password: 'wonder' },
    'scram-sha-512': { mechanism: 'scram-sha-512', username: 'alice', password: 'wonder' },
    oauthbearer: {
      mechanism: 'oauthbearer',
      oauthBearerProvider: () => Promise.resolve({ value: unsecuredToken() }),
    },
  };

  async function roundTrip(options: Omit<KafkaLogOptions, 'clientId'>): Promise<string[]> {
    const log = await openKafkaLog({ clientId: 'secure', ...options });
    names += 1;
    const topic = `secure-${names}`;
    await log.createTopics([{ name: topic, partitions: 1, replicationFactor: -1, configs: {} }]);
    await fillTopic(log, topic, 1, ['a', 'b']);
    const values = await readTopic(log, topic, 1);
    await log.close();
    return values;
  }

  test.each(Object.entries(mechanisms))('SASL %s', async (_, sasl) => {
    expect(await roundTrip({ brokers: [`127.0.0.1:${ports.sasl}`], sasl })).toEqual(['a', 'b']);
  });

  test('SASL over TLS, with a certificate authority of its own', async () => {
    const ssl = { ca: [readFileSync(join(dir, 'broker.pem'), 'utf8')] };
    const sasl = mechanisms['scram-sha-512'];
    const brokers = [`127.0.0.1:${ports.tls}`];
    expect(await roundTrip({ brokers, ssl, ...(sasl && { sasl }) })).toEqual(['a', 'b']);
  });

  test('a wrong password is told as such, at once', async () => {
    const options = {
      brokers: [`127.0.0.1:${ports.sasl}`],
      clientId: 'secure',
      sasl: { mechanism: 'plain', username: 'alice', password: 'wrong' },
    } as const;
    await expect(openKafkaLog(options)).rejects.toMatchObject({ code: 'NOT_AUTHORIZED' });
  });

  test('a certificate that is not trusted is refused', async () => {
    const options = { brokers: [`127.0.0.1:${ports.tls}`], clientId: 'secure', ssl: true } as const;
    await expect(openKafkaLog(options)).rejects.toMatchObject({ code: 'BROKER_UNAVAILABLE' });
  });

  test('a session that ends is renewed while records flow', async () => {
    const sasl = mechanisms['plain'];
    const log = await openKafkaLog({
      brokers: [`127.0.0.1:${ports.sasl}`],
      clientId: 'secure',
      ...(sasl && { sasl }),
    });
    await log.createTopics([
      { name: 'renewed', partitions: 1, replicationFactor: -1, configs: {} },
    ]);
    const written: string[] = [];
    const deadline = Date.now() + 20_000;
    while (Date.now() < deadline) {
      const value = `v${written.length}`;
      await fillTopic(log, 'renewed', 1, [value]);
      written.push(value);
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
    expect(await readTopic(log, 'renewed', 1)).toEqual(written);
    await log.close();
  });
});
