import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { buildFirst } from './build-first.ts';
import { dashboardFiles } from './dashboards.ts';

/**
 * Runs the service on a real Kafka and Redis with sample data, lets a real Prometheus scrape it, and asks that for every
 * panel of every dashboard and every rule. KAFKA_BROKERS and REDIS_URL say where; `prometheus` has to be in the path.
 * Exits with 1 when a query is wrong or has no data, or a rule cannot be evaluated.
 */
buildFirst();
const root = resolve(import.meta.dirname, '..');
const seconds = Number(process.env['CHECK_SECONDS'] ?? 75);
const brokers = process.env['KAFKA_BROKERS'] ?? '127.0.0.1:19092';
const redisUrl = process.env['REDIS_URL'] ?? 'redis://127.0.0.1:16379';
const name = `dash${Date.now()}`;
const folder = mkdtempSync(join(tmpdir(), 'tidemark-dashboards-'));
const children: ChildProcess[] = [];

/** What no run in good health ever shows. */
const emptyByNature: readonly string[] = [];

const sql = `CREATE SOURCE bookings (
  booking_id BIGINT, property_id BIGINT, guest STRING, status STRING,
  total_amount DECIMAL(10,2), update_id BIGINT, updated_at TIMESTAMP
) WITH (topic = '${name}.source');
CREATE STREAMING TABLE current (
  CONSTRAINT priced EXPECT (total_amount > 0) ON VIOLATION DROP ROW
) WITH (topic = '${name}.current', dead_letter_topic = '${name}.bad')
FLOW REPLACE USING (booking_id) SEQUENCE BY update_id BY NAME
SELECT booking_id, property_id, upper(guest) AS guest, total_amount, update_id, updated_at
FROM STREAM(bookings) WHERE status <> 'DRAFT';
CREATE STREAMING TABLE every WITH (topic = '${name}.every', partitions = 2);
CREATE FLOW all_bookings AS INSERT INTO every BY NAME SELECT booking_id, status FROM STREAM(bookings);`;

function start(
  command: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): ChildProcess {
  const child = spawn(command, args, {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { ...process.env, ...env },
  });
  children.push(child);
  return child;
}

function freePort(): Promise<number> {
  return new Promise((done) => {
    const server = createServer();
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => done(port));
    });
  });
}

function sleep(ms: number): Promise<void> {
  return new Promise((wake) => setTimeout(wake, ms));
}

async function answers(url: string): Promise<void> {
  for (let attempt = 0; attempt < 120; attempt += 1) {
    const response = await fetch(url).catch(() => undefined);
    if (response?.ok) return;
    await sleep(500);
  }
  throw new Error(`${url} does not answer`);
}

type Answer = { readonly status: string; readonly error?: string; readonly data: unknown };

async function ask(prometheus: string, path: string): Promise<Answer> {
  return (await (await fetch(`${prometheus}/api/v1/${path}`)).json()) as Answer;
}

async function checkPanels(prometheus: string): Promise<number> {
  let queries = 0;
  let wrong = 0;
  for (const [file, text] of dashboardFiles()) {
    const { panels } = JSON.parse(text) as {
      panels: { title: string; targets?: { expr: string }[] }[];
    };
    for (const { title, targets } of panels) {
      for (const { expr } of targets ?? []) {
        queries += 1;
        const query = expr
          .replaceAll('$__rate_interval', '20s')
          .replaceAll('$__interval', '20s')
          .replace(/"\$[a-z]+"/g, '".*"');
        const answer = await ask(prometheus, `query?query=${encodeURIComponent(query)}`);
        const found = (answer.data as { result?: unknown[] } | undefined)?.result ?? [];
        if (answer.status === 'success' && found.length > 0) continue;
        if (answer.status === 'success' && emptyByNature.includes(title)) continue;
        wrong += 1;
        const reason = answer.status === 'success' ? 'no data' : answer.error;
        process.stdout.write(`${file}: ${title}: ${reason}: ${query}\n`);
      }
    }
  }
  process.stdout.write(`${queries} panel queries, ${wrong} wrong or without data\n`);
  return wrong;
}

async function checkRules(prometheus: string): Promise<number> {
  const { data } = await ask(prometheus, 'rules');
  const rules = (
    data as {
      groups: { rules: { name: string; health: string; lastError?: string; state?: string }[] }[];
    }
  ).groups.flatMap((group) => group.rules);
  const wrong = rules.filter(({ health }) => health !== 'ok');
  const firing = rules.filter(({ state }) => state === 'firing');
  for (const { name: rule, lastError } of wrong) process.stdout.write(`${rule}: ${lastError}\n`);
  for (const { name: rule } of firing) process.stdout.write(`fires in a healthy run: ${rule}\n`);
  process.stdout.write(`${rules.length} rules, ${wrong.length} wrong, ${firing.length} firing\n`);
  return wrong.length + firing.length;
}

async function main(): Promise<number> {
  const [port, prometheusPort] = [await freePort(), await freePort()];
  const pipeline = join(folder, 'pipeline.sql');
  writeFileSync(pipeline, sql);
  writeFileSync(
    join(folder, 'prometheus.yaml'),
    JSON.stringify({
      global: { scrape_interval: '2s', evaluation_interval: '2s' },
      rule_files: [join(root, 'deploy/prometheus/tidemark.rules.yaml')],
      scrape_configs: [
        {
          job_name: 'tidemark',
          static_configs: [
            { targets: [`127.0.0.1:${port}`], labels: { namespace: 'local', pod: 'tidemark-0' } },
          ],
        },
      ],
    }),
  );
  start(process.execPath, [join(root, 'deploy/compose/producer.mjs')], {
    KAFKA_BROKERS: brokers,
    SAMPLE_MODULES: join(root, 'package.json'),
    SAMPLE_TOPIC: `${name}.source`,
  });
  await sleep(5_000);
  const run = (): ChildProcess =>
    start(
      process.execPath,
      [join(root, 'dist/main.js'), 'run', pipeline, '--http.port', String(port)],
      {
        TIDEMARK_PIPELINE_NAME: name,
        TIDEMARK_KAFKA_BROKERS: brokers,
        TIDEMARK_STATE_KIND: 'redis',
        TIDEMARK_REDIS_URL: redisUrl,
        TIDEMARK_HTTP_ENABLED: 'true',
        TIDEMARK_LOG_LEVEL: 'warn',
      },
    );
  run();
  await answers(`http://127.0.0.1:${port}/readyz`);
  const prometheus = `http://127.0.0.1:${prometheusPort}`;
  start('prometheus', [
    `--config.file=${join(folder, 'prometheus.yaml')}`,
    `--storage.tsdb.path=${join(folder, 'data')}`,
    `--web.listen-address=127.0.0.1:${prometheusPort}`,
    '--log.level=error',
  ]);
  await answers(`${prometheus}/-/ready`);
  await sleep(seconds * 1_000);
  return (await checkPanels(prometheus)) + (await checkRules(prometheus));
}

try {
  process.exitCode = (await main()) === 0 ? 0 : 1;
} finally {
  for (const child of children) child.kill('SIGTERM');
  await Promise.all(
    children.map((child) =>
      child.exitCode === null ? new Promise((ended) => child.once('exit', ended)) : undefined,
    ),
  );
  rmSync(folder, { recursive: true, force: true });
}
