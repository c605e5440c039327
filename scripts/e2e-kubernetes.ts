/**
 * `npm run e2e:k8s`: the chart and the image on a real cluster, with Kafka and Redis in it. Installs, feeds, verifies, upgrades
 * under load, kills, loses the state, is refused by the gate, rolls back, verifies, uninstalls. What the tables hold in the end is
 * judged by the logs alone, against a reference computed from the source. KUBECONFIG names the cluster (`scripts/kubernetes/cluster.sh
 * up` makes one of this machine, and knows the kinds of the Prometheus Operator and of KEDA), HELM and KUBECTL the programs; the images tidemark:e2e, local/cp-kafka:8.1.0 and local/redis:7
 * have to be there. The service addresses of the cluster have to be reachable from here, as they are on a node. The last line is
 * the verdict; exits with 1 when anything differs.
 */
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { openKafkaLog } from '../src/adapters/kafka/kafka-log.ts';
import type { Log } from '../src/ports/log.ts';
import { checkOutput, untilCaughtUp } from '../test/support/check-output.ts';
import { sleep } from '../test/support/service-process.ts';
import { producePaced, type SourceRecord, workload } from '../test/support/workload.ts';

const root = resolve(import.meta.dirname, '..');
const brokers = process.env['E2E_BROKERS'] ?? '10.96.20.1:9092';
const helmProgram = process.env['HELM'] ?? 'helm';
const kubectlProgram = process.env['KUBECTL'] ?? 'kubectl';
const release = 'e2e';
const pods = [`${release}-tidemark-0`, `${release}-tidemark-1`];
const folder = mkdtempSync(join(tmpdir(), 'tidemark-e2e-'));
const partitions = 4;
const place = { source: 'orders', target: 'cur', pipeline: release, output: 'row_set' } as const;

const sql = (keys: string, filter: string): string => `
CREATE SOURCE orders (region STRING, item STRING, qty INT, seq BIGINT) WITH (topic = 'orders');
CREATE STREAMING TABLE cur WITH (partitions = ${partitions})
FLOW REPLACE USING (${keys}) SEQUENCE BY seq BY NAME
SELECT region, item, qty, seq FROM STREAM(orders)${filter};
`;

type Done = { readonly code: number; readonly out: string };

async function call(program: string, args: readonly string[]): Promise<Done> {
  try {
    const options = { cwd: root, maxBuffer: 32 << 20, encoding: 'utf8' as const };
    const { stdout, stderr } = await promisify(execFile)(program, args, options);
    return { code: 0, out: stdout + (stdout === '' ? stderr : '') };
  } catch (error) {
    const { code, stdout, stderr } = error as { code?: number; stdout?: string; stderr?: string };
    return { code: typeof code === 'number' ? code : 1, out: `${stdout ?? ''}${stderr ?? error}` };
  }
}

async function need(program: string, args: readonly string[]): Promise<string> {
  const { code, out } = await call(program, args);
  if (code !== 0) throw new Error(`${program} ${args.join(' ')} ended with ${code}:\n${out}`);
  return out;
}

const kubectl = (...args: readonly string[]): Promise<string> => need(kubectlProgram, args);

let failures = 0;

/** A step that goes wrong ends the run; an expectation that is not met is told, and the run goes on. */
async function step(name: string, run: () => Promise<string | undefined>): Promise<void> {
  const startedMs = Date.now();
  const found = await run();
  const seconds = ((Date.now() - startedMs) / 1000).toFixed(1);
  process.stdout.write(
    `${seconds.padStart(6)} s  ${name}${found === undefined ? '' : `: ${found}`}\n`,
  );
}

function expectThat(isMet: boolean, text: string): void {
  if (isMet) return;
  failures += 1;
  process.stdout.write(`        NOT SO: ${text}\n`);
}

let valueFiles = 0;
function values(pipeline: string, more: Readonly<Record<string, unknown>> = {}): string {
  valueFiles += 1;
  const file = join(folder, `values-${valueFiles}.json`);
  writeFileSync(
    file,
    JSON.stringify({
      image: {
        repository: process.env['E2E_IMAGE'] ?? 'docker.io/library/tidemark',
        tag: 'e2e',
        pullPolicy: 'Never',
      },
      replicaCount: 2,
      minReadySeconds: 1,
      kafka: { brokers: [brokers], transactionTimeoutMs: 10_000 },
      state: { kind: 'redis', redis: { existingSecret: 'redis' } },
      pipeline: { files: { 'orders.sql': pipeline } },
      gate: { plan: 'required' },
      probes: { readiness: { periodSeconds: 1, timeoutSeconds: 2, failureThreshold: 1 } },
      resources: { requests: { cpu: '50m', memory: '128Mi' }, limits: { memory: '512Mi' } },
      ...more,
    }),
  );
  return file;
}

function helm(verb: 'install' | 'upgrade', file: string): Promise<Done> {
  const args = [verb, release, 'helm/tidemark', '--values', file, '--wait', '--timeout', '5m'];
  return call(helmProgram, args);
}

async function uids(): Promise<readonly string[]> {
  const path = 'jsonpath={.items[*].metadata.uid}';
  const selector = 'app.kubernetes.io/name=tidemark';
  return (await kubectl('get', 'pods', '-l', selector, '-o', path)).split(' ').sort();
}

async function podAddress(pod: string): Promise<string> {
  return (await call(kubectlProgram, ['get', 'pod', pod, '-o', 'jsonpath={.status.podIP}'])).out;
}

/** Records that nobody has sent yet: sequences go on from where the part before ended. */
let parts = 0;
function part(records: number, keys = 60): SourceRecord[] {
  parts += 1;
  const levelStart = parts * 1_000_000;
  return workload({ seed: parts, records, partitions, keys, levelStart });
}

async function feed(log: Log, records: number, seconds: number): Promise<void> {
  await producePaced(log, place.source, part(records), { durationMs: seconds * 1_000 });
}

async function verify(log: Log): Promise<string> {
  await untilCaughtUp(log, place, 120_000);
  const report = await checkOutput({ ...place, brokers });
  for (const difference of report.differences.slice(0, 10)) expectThat(false, difference);
  const { sourceRecords, outputRecords, keys, rows, differences } = report;
  return `${sourceRecords} records in, ${outputRecords} out, ${keys} keys, ${rows} rows, differences: ${differences.length}`;
}

/** What the probe says while a pod restores: asked all the time, from the first answer on. */
async function watchReadiness(
  pod: string,
): Promise<{ restoring: number; readyWhileRestoring: number }> {
  const seen = { restoring: 0, readyWhileRestoring: 0 };
  let address = '';
  let isReady = false;
  const deadline = Date.now() + 120_000;
  while (!isReady && Date.now() < deadline) {
    address ||= await podAddress(pod);
    const answer = await fetch(`http://${address}:8080/readyz`).catch(() => undefined);
    if (answer === undefined) {
      address = '';
      await sleep(50);
      continue;
    }
    const { reasons } = (await answer.json()) as { reasons: readonly string[] };
    if (reasons.some((reason) => reason.includes('restores'))) {
      seen.restoring += 1;
      if (answer.status !== 503) seen.readyWhileRestoring += 1;
    }
    isReady = answer.status === 200;
    await sleep(20);
  }
  expectThat(isReady, `${pod} became ready`);
  return seen;
}

async function run(): Promise<void> {
  await step('Kafka and Redis are available in the cluster', async () => {
    await kubectl('apply', '-f', 'scripts/kubernetes/services.yaml');
    await kubectl('rollout', 'status', 'deployment/kafka', 'deployment/redis', '--timeout=180s');
    return undefined;
  });
  const log = await openKafkaLog({ brokers: brokers.split(','), clientId: 'e2e' });
  try {
    await log.createTopics([
      { name: place.source, partitions, replicationFactor: -1, configs: {} },
    ]);
    await scenario(log);
  } finally {
    await log.close();
  }
}

async function scenario(log: Log): Promise<void> {
  const first = values(sql('region', ''));
  await step('the rendered chart passes a server-side dry run', async () => {
    const counts: string[] = [];
    for (const file of [first, ...renderings()]) counts.push(await dryRun(file));
    return `${counts.join(' + ')} objects`;
  });
  await step('helm install, two pods', async () => {
    const { code, out } = await helm('install', first);
    if (code !== 0) throw new Error(out);
    expectThat(out.includes(`test ${release}`), 'the notes say what to do next');
    return undefined;
  });
  await step('helm test', async () => {
    const { code, out } = await call(helmProgram, ['test', release, '--timeout', '2m']);
    expectThat(code === 0, `helm test passes: ${out}`);
    return undefined;
  });
  await step('status, asked in a pod', async () => {
    const program = ['node', '/opt/tidemark/dist/main.js', 'status'];
    const out = await kubectl('exec', `statefulset/${release}-tidemark`, '--', ...program);
    expectThat(out.includes(place.target), `status tells of the table: ${out}`);
    return undefined;
  });
  await step('feed and verify', async () => {
    await feed(log, 20_000, 4);
    return verify(log);
  });
  await step('an upgrade under load rolls both pods', async () => {
    const before = await uids();
    const feeding = feed(log, 20_000, 25);
    const config = { commit: { intervalMs: 150 } };
    const { code, out } = await helm(
      'upgrade',
      values(sql('region', ' WHERE qty >= 0'), { config }),
    );
    expectThat(code === 0, `the upgrade succeeds: ${out}`);
    const after = await uids();
    expectThat(!after.some((uid) => before.includes(uid)), 'both pods are new');
    await feeding;
    return verify(log);
  });
  await step('a pod is killed under load', async () => {
    const feeding = feed(log, 10_000, 10);
    await sleep(2_000);
    await kubectl('delete', 'pod', pods[0] ?? '', '--grace-period=0', '--force');
    await feeding;
    await rolledOut();
    return verify(log);
  });
  await step('the state is lost: no pod is ready while it restores', async () => {
    await producePaced(log, place.source, part(60_000, 40_000), { durationMs: 4_000 });
    await untilCaughtUp(log, place, 120_000);
    await kubectl('exec', 'deployment/redis', '--', 'redis-cli', 'FLUSHALL');
    await kubectl('delete', 'pod', pods[1] ?? '', '--grace-period=0', '--force');
    const { restoring, readyWhileRestoring } = await watchReadiness(pods[1] ?? '');
    expectThat(restoring > 0, 'the restore was seen');
    expectThat(readyWhileRestoring === 0, 'readiness is false while restoring');
    await rolledOut();
    return `asked ${restoring} times while it restored, ready ${readyWhileRestoring} times; ${await verify(log)}`;
  });
  await step('a rollback under load', async () => {
    const feeding = feed(log, 10_000, 20);
    await need(helmProgram, ['rollback', release, '1', '--wait', '--timeout', '5m']);
    await feeding;
    return verify(log);
  });
  await gate(log);
}

/** Values that bring in every kind of object that the chart has. */
function renderings(): readonly string[] {
  const pipeline = sql('region', '');
  return [
    values(pipeline, {
      metrics: {
        monitor: 'ServiceMonitor',
        prometheusRule: { enabled: true },
        dashboards: { enabled: true },
      },
      networkPolicy: { enabled: true },
    }),
    values(pipeline, {
      workload: 'Deployment',
      metrics: { monitor: 'PodMonitor' },
      autoscaling: { mode: 'keda', prometheusAddress: 'http://prometheus:9090' },
    }),
    values(pipeline, { autoscaling: { mode: 'hpa-lag' } }),
  ];
}

/** Gives the number of objects that the API server would take as they are. */
async function dryRun(valuesFile: string): Promise<string> {
  const version = JSON.parse(await kubectl('version', '-o', 'json')) as {
    serverVersion: { gitVersion: string };
  };
  // Rendering without a cluster, helm takes its own build for the version of Kubernetes.
  const isFor = ['--kube-version', version.serverVersion.gitVersion];
  const args = ['template', release, 'helm/tidemark', '--values', valuesFile, ...isFor];
  const file = join(folder, 'rendered.yaml');
  writeFileSync(file, await need(helmProgram, args));
  const flags = ['--server-side', '--dry-run=server', '--validate=strict'];
  const out = await kubectl('apply', ...flags, '-f', file);
  return String(out.trim().split('\n').length);
}

async function rolledOut(): Promise<void> {
  await kubectl('rollout', 'status', `statefulset/${release}-tidemark`, '--timeout=180s');
}

/** What the gate refuses changes nothing: the pods are the same, and go on. */
async function gate(log: Log): Promise<void> {
  await step('the gate refuses a pipeline that is not valid', async () =>
    refused(sql('nothing', '')),
  );
  await step('the gate refuses an upgrade that would lose data', async () => {
    const all = Array.from({ length: partitions }, (_, partition) => partition);
    const ranges = await log.offsetRanges(place.source, all);
    // Half of what the table was made of can not be read again: a new key would have to be computed from the rest.
    const before = [...ranges].map(
      ([partition, { end }]) => [partition, Math.floor(end / 2)] as const,
    );
    await log.deleteRecords(place.source, new Map(before));
    return refused(sql('region, item', ''));
  });
  await step('helm uninstall', async () => {
    await need(helmProgram, ['uninstall', release, '--wait', '--timeout', '3m']);
    return undefined;
  });
}

async function refused(pipeline: string): Promise<string> {
  const before = await uids();
  const { code } = await helm('upgrade', values(pipeline));
  expectThat(code !== 0, 'the upgrade is refused');
  expectThat((await uids()).join() === before.join(), 'the pods are the same');
  const said = await call(kubectlProgram, ['logs', `job/${release}-tidemark-gate`, '--tail=4']);
  return said.out.trim().split('\n').at(-1) ?? '';
}

try {
  await run();
} catch (error) {
  failures += 1;
  process.stdout.write(`${error instanceof Error ? error.message : String(error)}\n`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
process.stdout.write(failures === 0 ? 'e2e passed\n' : `e2e FAILED: ${failures}\n`);
process.exitCode = failures === 0 ? 0 : 1;
