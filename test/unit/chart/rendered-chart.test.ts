import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { loadConfig } from '../../../src/config/load-config.ts';
import {
  chart,
  findHelm,
  isHelmRequired,
  type KubeObject,
  parseManifests,
  runHelm,
  type Values,
} from '../../support/helm.ts';
import { CliFolder } from '../../support/run-cli.ts';

const helm = findHelm();

if (helm !== undefined) describe('the chart as helm renders it', () => renderedChart(helm));

test(
  helm === undefined
    ? 'NO HELM HERE: the chart is NOT rendered, only its values and files are checked (TEST_HELM_REQUIRED=1 makes this a failure)'
    : 'helm is here: the chart is rendered',
  () => {
    expect(helm !== undefined || !isHelmRequired).toBe(true);
  },
);

const files = { 'a.sql': 'CREATE …', 'b.sql': 'CREATE …' };
const redis = { kind: 'redis', redis: { existingSecret: 'redis-url' } };
const base = { kafka: { brokers: ['kafka-0:9092', 'kafka-1:9093'] }, pipeline: { files } };

type Manifests = {
  readonly all: readonly KubeObject[];
  one(kind: string, name?: string): KubeObject;
  find(kind: string, name?: string): KubeObject | undefined;
};

function render(values: Values, release = 'shop'): Manifests {
  const result = runHelm(helm ?? '', ['template', release, chart, '--namespace', 'ns'], values);
  if (!result.ok) throw new Error(result.err);
  const all = parseManifests(result.out);
  const find = (kind: string, name?: string): KubeObject | undefined =>
    all.find((one) => one.kind === kind && (name === undefined || one.metadata.name === name));
  return {
    all,
    find,
    one: (kind, name) => {
      const found = find(kind, name);
      if (found === undefined) throw new Error(`there is no ${kind} ${name ?? ''}`);
      return found;
    },
  };
}

function refusal(values: Values): string {
  const result = runHelm(helm ?? '', ['template', 'shop', chart], values);
  expect(result.ok).toBe(false);
  return result.err;
}

/** The value at a path such as `spec.template.spec.containers.0.image`. */
function at(object: unknown, path: string): unknown {
  let value: unknown = object;
  for (const part of path.split('.'))
    value = (value as Record<string, unknown> | undefined)?.[part];
  return value;
}

/** tidemark.yaml as the service itself reads it. */
function configOf(manifests: Manifests, name = 'shop-tidemark'): ReturnType<typeof loadConfig> {
  const data = at(manifests.one('ConfigMap', name), 'data') as Record<string, string>;
  const folder = new CliFolder();
  try {
    // The files of secrets are not here; that they are named right is checked apart.
    const given = parse(data['tidemark.yaml'] ?? '') as Record<string, Record<string, unknown>>;
    for (const [section, options] of Object.entries(given)) {
      for (const option of Object.keys(options))
        if (option.endsWith('File')) delete options[option];
      if (Object.keys(options).length === 0) delete given[section];
    }
    const file = folder.write('tidemark.yaml', JSON.stringify(given));
    const environment = { TIDEMARK_KAFKA_SASL_PASSWORD: 'x', TIDEMARK_REDIS_URL: 'redis://x' };
    return loadConfig({ file, environment, flags: new Map() });
  } finally {
    folder.remove();
  }
}

/** What becomes a label or a host name; other names may be longer. */
const shortKinds = ['StatefulSet', 'Deployment', 'Service', 'Job', 'Pod'];

const matrix: readonly (readonly [string, Values])[] = [
  ['the defaults', {}],
  ['a Deployment', { workload: 'Deployment', replicaCount: 3, state: redis }],
  [
    'no gate, no budget, no spread',
    {
      gate: { enabled: false },
      podDisruptionBudget: { enabled: false },
      topologySpread: { enabled: false },
    },
  ],
  [
    'Redis, SASL and mutual TLS',
    {
      state: { kind: 'redis', redis: { existingSecret: 'redis-url' } },
      kafka: {
        ...base.kafka,
        tls: {
          enabled: true,
          existingSecret: 'kafka-user',
          certKey: 'user.crt',
          keyKey: 'user.key',
        },
        sasl: { mechanism: 'scram-sha-512', existingSecret: 'kafka-user', usernameKey: 'user' },
      },
    },
  ],
  [
    'everything that watches',
    {
      metrics: {
        monitor: 'ServiceMonitor',
        labels: { release: 'prometheus' },
        prometheusRule: { enabled: true },
        dashboards: { enabled: true },
      },
      networkPolicy: { enabled: true },
    },
  ],
  [
    'PodMonitor and KEDA',
    {
      metrics: { monitor: 'PodMonitor' },
      state: redis,
      autoscaling: { mode: 'keda', prometheusAddress: 'http://prometheus:9090' },
    },
  ],
  ['scaling by CPU', { autoscaling: { mode: 'hpa-cpu' }, state: redis }],
  ['scaling by lag', { autoscaling: { mode: 'hpa-lag' }, workload: 'Deployment', state: redis }],
  [
    'an existing ConfigMap and much of a pod',
    {
      pipeline: { name: 'shop_v1', existingConfigMap: 'sql', existingConfigMapKeys: ['x.sql'] },
      image: { digest: `sha256:${'a'.repeat(64)}`, pullSecrets: ['registry'] },
      nodeSelector: { disk: 'ssd' },
      tolerations: [{ key: 'a', operator: 'Exists' }],
      affinity: { nodeAffinity: {} },
      priorityClassName: 'high',
      podLabels: { team: 'a' },
      podAnnotations: { note: 'b' },
      extraEnv: [{ name: 'X', value: 'y' }],
      extraVolumes: [{ name: 'v', emptyDir: {} }],
      extraVolumeMounts: [{ name: 'v', mountPath: '/v' }],
      nodeOptions: '--max-old-space-size=700',
      http: { tokenExistingSecret: 'token' },
      serviceAccount: { create: false, name: 'given' },
      extraObjects: [
        { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: '{{ .Release.Name }}-more' } },
      ],
    },
  ],
  ['a long name', { fullnameOverride: 'x'.repeat(80) }],
];

function renderedChart(program: string): void {
  test.each(matrix)('%s: passes the strict lint, and every object is whole', (_, change) => {
    const values = { ...base, ...change };
    const lint = runHelm(program, ['lint', '--strict', chart], values);
    expect(lint.out + lint.err).toContain('0 chart(s) failed');
    const { all } = render(values);
    const names = all.map(({ kind, metadata }) => `${kind}/${metadata.name}`);
    expect(new Set(names).size).toBe(names.length);
    for (const { apiVersion, kind, metadata } of all) {
      expect(apiVersion).toMatch(/^([a-z0-9.]+\/)?v\d/);
      expect(kind).toBeTruthy();
      const lengthMax = shortKinds.includes(kind) ? 57 : 253;
      expect(metadata.name.length).toBeLessThanOrEqual(lengthMax);
      if (metadata.name.endsWith('-more')) continue;
      expect(metadata.labels?.['app.kubernetes.io/instance']).toBe('shop');
    }
  });

  test.each(matrix)('%s: every pod passes Pod Security "restricted"', (_, change) => {
    const pods = render({ ...base, ...change }).all.flatMap((object) => {
      const spec = object.kind === 'Pod' ? at(object, 'spec') : at(object, 'spec.template.spec');
      return spec === undefined ? [] : [spec];
    });
    expect(pods.length).toBeGreaterThan(0);
    for (const pod of pods) {
      expect(at(pod, 'automountServiceAccountToken')).toBe(false);
      expect(at(pod, 'enableServiceLinks')).toBe(false);
      expect(at(pod, 'securityContext')).toMatchObject({
        runAsNonRoot: true,
        runAsUser: 10001,
        seccompProfile: { type: 'RuntimeDefault' },
      });
      for (const container of at(pod, 'containers') as unknown[]) {
        expect(at(container, 'securityContext')).toEqual({
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] },
        });
        expect(at(container, 'resources.limits.memory')).toBeTruthy();
      }
    }
  });

  test.each(matrix)('%s: the service reads its configuration', (_, change) => {
    const manifests = render({ ...base, ...change });
    const name = manifests.all.find(({ kind }) => kind === 'StatefulSet' || kind === 'Deployment')
      ?.metadata.name;
    const config = configOf(manifests, name);
    expect(config['kafka.brokers']).toEqual(base.kafka.brokers);
    expect(config['http.host']).toBe('0.0.0.0');
    expect(config['http.enabled']).toBe('true');
    for (const file of config['pipeline.files'])
      expect(file).toMatch(/^\/etc\/tidemark\/pipeline\//);
  });

  test('a StatefulSet has stable names and static members; a Deployment replaces one pod at a time', () => {
    const stateful = render(base);
    const set = stateful.one('StatefulSet', 'shop-tidemark');
    expect(at(set, 'spec.serviceName')).toBe(stateful.one('Service').metadata.name);
    expect(at(set, 'spec.podManagementPolicy')).toBe('Parallel');
    expect(at(set, 'spec.volumeClaimTemplates.0.spec.resources.requests.storage')).toBe('10Gi');
    expect(configOf(stateful)['group.static']).toBe(true);
    // P071: the default of the service, with which readers go on within 10 s of a pod's death.
    expect(configOf(stateful)['group.sessionTimeoutMs']).toBe(6_000);
    const plain = render({ ...base, workload: 'Deployment' });
    expect(plain.find('StatefulSet')).toBeUndefined();
    const deployment = plain.one('Deployment');
    expect(at(deployment, 'spec.strategy.rollingUpdate')).toEqual({
      maxSurge: 0,
      maxUnavailable: 1,
    });
    expect(at(deployment, 'spec.volumeClaimTemplates')).toBeUndefined();
    expect(configOf(plain)['group.static']).toBe(false);
    const wished = render({ ...base, group: { static: false } });
    expect(configOf(wished)['group.static']).toBe(false);
  });

  test('the grace period follows from the transaction timeout', () => {
    const grace = (ms: number): unknown =>
      at(
        render({ ...base, kafka: { ...base.kafka, transactionTimeoutMs: ms } }).one('StatefulSet'),
        'spec.template.spec.terminationGracePeriodSeconds',
      );
    expect(grace(60_000)).toBe(75);
    expect(grace(900_000)).toBe(915);
    expect(grace(1_500)).toBe(17);
  });

  test('probes: started within the budget, alive by the loop, ready by the work', () => {
    const manifests = render({ ...base, probes: { startupBudgetSeconds: 601 } });
    const container = at(manifests.one('StatefulSet'), 'spec.template.spec.containers.0');
    expect(at(container, 'startupProbe')).toMatchObject({
      httpGet: { path: '/startupz', port: 'http' },
      periodSeconds: 5,
      failureThreshold: 121,
    });
    expect(at(container, 'livenessProbe.httpGet.path')).toBe('/livez');
    expect(at(container, 'readinessProbe.httpGet.path')).toBe('/readyz');
    expect(configOf(manifests)['retry.startTimeoutMs']).toBe(601_000);
  });

  test('secrets are files, and stand in no object of the chart', () => {
    const manifests = render({
      ...base,
      state: { kind: 'redis', redis: { existingSecret: 'redis-url', urlKey: 'uri' } },
      kafka: {
        ...base.kafka,
        tls: { enabled: true, existingSecret: 'tls', certKey: 'user.crt', keyKey: 'user.key' },
        sasl: { mechanism: 'plain', existingSecret: 'sasl', usernameKey: 'user' },
      },
      http: { tokenExistingSecret: 'token' },
    });
    expect(manifests.find('Secret')).toBeUndefined();
    const yaml = at(manifests.one('ConfigMap', 'shop-tidemark'), 'data') as Record<string, string>;
    expect(parse(yaml['tidemark.yaml'] ?? '')).toMatchObject({
      kafka: {
        ssl: true,
        sslCaFile: '/etc/tidemark/secrets/kafka-tls/ca.crt',
        sslCertFile: '/etc/tidemark/secrets/kafka-tls/user.crt',
        sslKeyFile: '/etc/tidemark/secrets/kafka-tls/user.key',
        saslMechanism: 'plain',
        saslPasswordFile: '/etc/tidemark/secrets/kafka-sasl/password',
      },
      redis: { urlFile: '/etc/tidemark/secrets/redis/uri' },
      http: { tokenFile: '/etc/tidemark/secrets/http/token' },
    });
    for (const kind of ['StatefulSet', 'Job']) {
      const pod = at(manifests.one(kind), 'spec.template.spec');
      const mounted = (at(pod, 'containers.0.volumeMounts') as { name: string }[]).map(
        ({ name }) => name,
      );
      const volumes = (
        at(pod, 'volumes') as { name: string; secret?: { secretName: string } }[]
      ).flatMap(({ name, secret }) =>
        secret === undefined ? [] : [`${name}=${secret.secretName}`],
      );
      expect(volumes).toEqual([
        'kafka-tls=tls',
        'kafka-sasl=sasl',
        'redis=redis-url',
        'http=token',
      ]);
      expect(mounted).toEqual(expect.arrayContaining(['kafka-tls', 'kafka-sasl', 'redis', 'http']));
      expect(at(pod, 'containers.0.env')).toContainEqual({
        name: 'TIDEMARK_KAFKA_SASL_USERNAME',
        valueFrom: { secretKeyRef: { name: 'sasl', key: 'user' } },
      });
    }
  });

  test('a changed pipeline or configuration rolls the pods; the same one does not', () => {
    const marks = (change: Values): unknown =>
      at(render({ ...base, ...change }).one('StatefulSet'), 'spec.template.metadata.annotations');
    expect(marks({})).toEqual(marks({}));
    expect(
      marks({ pipeline: { files: { ...files, 'a.sql': 'CREATE … -- changed' } } }),
    ).not.toEqual(marks({}));
    expect(marks({ config: { commit: { intervalMs: 200 } } })).not.toEqual(marks({}));
    expect(marks({ replicaCount: 3, state: redis })).toEqual(marks({ state: redis }));
  });

  test('the gate runs before installations and upgrades, with the new pipeline', () => {
    const manifests = render(base);
    const job = manifests.one('Job', 'shop-tidemark-gate');
    expect(job.metadata.annotations?.['helm.sh/hook']).toBe('pre-install,pre-upgrade,pre-rollback');
    const config = manifests.one('ConfigMap', 'shop-tidemark-gate');
    const pipeline = manifests.one('ConfigMap', 'shop-tidemark-gate-pipeline');
    for (const before of [config, pipeline]) {
      const weight = Number(before.metadata.annotations?.['helm.sh/hook-weight']);
      expect(weight).toBeLessThan(Number(job.metadata.annotations?.['helm.sh/hook-weight']));
    }
    expect(at(pipeline, 'data')).toEqual(files);
    expect(at(config, 'data')).toHaveProperty(['gate.mjs']);
    expect(at(job, 'spec.backoffLimit')).toBe(0);
    expect(at(job, 'spec.template.spec.containers.0.env')).toContainEqual({
      name: 'GATE_PLAN',
      value: 'auto',
    });
    expect(render({ ...base, gate: { enabled: false } }).find('Job')).toBeUndefined();
  });

  test('the gate runs where the pods do, with the memory of its own unless it makes a refresh', () => {
    const given = {
      ...base,
      affinity: { nodeAffinity: {} },
      priorityClassName: 'high',
      serviceAccount: { create: false, name: 'shared' },
      nodeOptions: '--max-old-space-size=768',
    };
    const node = { name: 'NODE_OPTIONS', value: '--max-old-space-size=768' };
    const container = 'spec.template.spec.containers.0';
    const plain = render(given);
    const gate = plain.one('Job');
    expect(at(gate, 'spec.template.spec')).toMatchObject({
      affinity: { nodeAffinity: {} },
      priorityClassName: 'high',
      serviceAccountName: 'shared',
    });
    expect(at(plain.one('StatefulSet'), `${container}.env`)).toContainEqual(node);
    expect(at(gate, `${container}.env`)).not.toContainEqual(node);
    expect(at(gate, `${container}.resources.limits.memory`)).toBe('512Mi');
    expect(at(render(base).one('Job'), 'spec.template.spec.serviceAccountName')).toBeUndefined();

    const refresh = ['latest', '--in-place'];
    const refreshes = render({ ...given, gate: { refresh } }).one('Job');
    const env = at(refreshes, `${container}.env`);
    expect(env).toContainEqual(node);
    expect(env).toContainEqual({ name: 'GATE_REFRESH', value: JSON.stringify(refresh) });
    expect(at(refreshes, `${container}.resources.limits.memory`)).toBe('1Gi');
    expect(at(refreshes, `${container}.volumeMounts`)).toContainEqual({
      name: 'state',
      mountPath: '/var/lib/tidemark',
    });
    expect(at(refreshes, 'spec.template.spec.volumes')).toContainEqual({
      name: 'state',
      emptyDir: {},
    });
  });

  test.each(readdirSync(join(chart, 'ci')))('linters of charts find values: %s', (file) => {
    const values = parse(readFileSync(join(chart, 'ci', file), 'utf8')) as Values;
    const { ok, err, out } = runHelm(helm ?? '', ['lint', '--strict', chart], values);
    expect(ok, err + out).toBe(true);
    expect(render(values).one('StatefulSet').metadata.name).toBe('shop-tidemark');
  });

  test('a pod that restores does not keep its node from being drained', () => {
    expect(at(render(base).one('PodDisruptionBudget'), 'spec')).toMatchObject({
      maxUnavailable: 1,
      unhealthyPodEvictionPolicy: 'AlwaysAllow',
    });
  });

  test('the network policy lets in the scrape, and out to names, brokers and Redis', () => {
    const policies = render({
      ...base,
      state: { kind: 'redis', redis: { existingSecret: 'r', port: 6380 } },
      networkPolicy: {
        enabled: true,
        metricsFrom: [{ podSelector: { matchLabels: { app: 'prom' } } }],
      },
    });
    const policy = policies.one('NetworkPolicy', 'shop-tidemark');
    const gate = policies.one('NetworkPolicy', 'shop-tidemark-gate');
    const tests = policies.one('Pod', 'shop-tidemark-test').metadata.labels;
    expect(at(policy, 'spec.ingress.0.from')).toEqual([
      { podSelector: { matchLabels: { app: 'prom' } } },
      { podSelector: { matchLabels: tests } },
    ]);
    expect(at(gate, 'spec.egress')).toEqual(at(policy, 'spec.egress'));
    expect(at(gate, 'spec.ingress')).toBeUndefined();
    expect(at(gate, 'spec.podSelector.matchLabels')).toEqual(
      at(policies.one('Job'), 'spec.template.metadata.labels'),
    );
    expect(gate.metadata.annotations).toMatchObject({ 'helm.sh/hook-weight': '-10' });
    const ports = (at(policy, 'spec.egress') as { ports: { port: number }[] }[]).flatMap((rule) =>
      rule.ports.map(({ port }) => port),
    );
    expect(ports).toEqual([53, 53, 9092, 9093, 6380]);
  });

  test('scaling: by our own lag, slowly down, and the number of replicas is left alone', () => {
    const keda = render({
      ...base,
      state: redis,
      autoscaling: { mode: 'keda', prometheusAddress: 'http://p:9090', lagSecondsTarget: 20 },
    });
    expect(at(keda.one('StatefulSet'), 'spec.replicas')).toBeUndefined();
    expect(at(keda.one('ScaledObject'), 'spec.triggers.0.metadata')).toEqual({
      serverAddress: 'http://p:9090',
      query: 'max(tidemark_source_lag_seconds{namespace="ns",pipeline="shop"})',
      threshold: '20',
    });
    const hpa = render({ ...base, state: redis, autoscaling: { mode: 'hpa-lag' } }).one(
      'HorizontalPodAutoscaler',
    );
    expect(at(hpa, 'spec.metrics.0.external.metric.name')).toBe('tidemark_source_lag_seconds');
    expect(at(hpa, 'spec.behavior.scaleDown.stabilizationWindowSeconds')).toBe(600);
  });

  test('rules: alerts can be left out and changed, and runbooks moved', () => {
    const rules = (prometheusRule: Values): Record<string, Record<string, unknown>> => {
      const values = { ...base, metrics: { prometheusRule: { enabled: true, ...prometheusRule } } };
      const groups = at(render(values).one('PrometheusRule'), 'spec.groups') as {
        rules: Record<string, unknown>[];
      }[];
      const all = groups.flatMap((group) => group.rules);
      return Object.fromEntries(all.map((rule) => [String(rule['alert'] ?? rule['record']), rule]));
    };
    const plain = rules({});
    expect(Object.keys(plain).length).toBeGreaterThan(30);
    const moved = rules({
      runbookBaseUrl: 'https://wiki.example/tidemark/',
      disabledAlerts: ['TidemarkIdleInstances'],
      overrides: { TidemarkCommitSlow: { for: '1h', severity: 'critical', expr: 'vector(1)' } },
    });
    expect(moved['TidemarkIdleInstances']).toBeUndefined();
    expect(moved['TidemarkCommitSlow']).toMatchObject({
      for: '1h',
      expr: 'vector(1)',
      labels: { severity: 'critical' },
      annotations: { runbook_url: 'https://wiki.example/tidemark/TidemarkCommitSlow' },
    });
    expect(Object.keys(moved).length).toBe(Object.keys(plain).length - 1);
    // Templates of Prometheus must come through as they are.
    expect(at(plain['TidemarkStalled'], 'annotations.summary')).toContain('{{ $labels.flow }}');
  });

  test('pods spread over hosts and zones, and are scheduled all the same', () => {
    const constraints = at(
      render(base).one('StatefulSet'),
      'spec.template.spec.topologySpreadConstraints',
    ) as Record<string, unknown>[];
    expect(constraints.map(({ topologyKey }) => topologyKey)).toEqual([
      'kubernetes.io/hostname',
      'topology.kubernetes.io/zone',
    ]);
    for (const one of constraints) {
      expect(one).toMatchObject({ maxSkew: 1, whenUnsatisfiable: 'ScheduleAnyway' });
      expect(at(one, 'labelSelector.matchLabels')).toEqual({
        'app.kubernetes.io/name': 'tidemark',
        'app.kubernetes.io/instance': 'shop',
      });
    }
  });

  test.each([
    ['ServiceMonitor', 'spec.endpoints.0'],
    ['PodMonitor', 'spec.podMetricsEndpoints.0'],
  ])(
    '%s scrapes the pods of the release, under a job that the alerts know',
    (monitor, endpoint) => {
      const values = { monitor, interval: '20s', labels: { release: 'prometheus' } };
      const manifests = render({ ...base, metrics: values });
      const found = manifests.one(monitor);
      expect(found.metadata.labels).toMatchObject({ release: 'prometheus' });
      expect(at(found, endpoint)).toEqual({ port: 'http', path: '/metrics', interval: '20s' });
      expect(at(found, 'spec.jobLabel')).toBe('app.kubernetes.io/name');
      const selector = at(found, 'spec.selector.matchLabels') as Record<string, string>;
      const pods = at(manifests.one('StatefulSet'), 'spec.template.metadata.labels');
      expect(pods).toMatchObject(selector);
      expect(manifests.one('Service').metadata.labels).toMatchObject(selector);
      const ports = at(manifests.one('StatefulSet'), 'spec.template.spec.containers.0.ports');
      expect(ports).toEqual([expect.objectContaining({ name: 'http', containerPort: 8080 })]);
    },
  );

  test('the values that the page on Kubernetes shows are taken as they are', () => {
    const page = readFileSync(join(chart, '../../docs/operations-kubernetes.md'), 'utf8');
    const [, text = ''] = /cat > values\.yaml <<'YAML'\n([\s\S]+?)\nYAML\n/.exec(page) ?? [];
    const values = parse(text) as Values;
    const shown = [...page.matchAll(/```yaml\n([\s\S]+?)```/g)].map(
      ([, part = '']) => parse(part) as Values,
    );
    expect(shown.length).toBeGreaterThan(1);
    const pipeline = { files: { 'bookings.sql': 'CREATE …' } };
    const kinds = render({ ...values, pipeline }, 'bookings').all.map(({ kind }) => kind);
    expect(kinds).toEqual(
      expect.arrayContaining(['StatefulSet', 'ServiceMonitor', 'PrometheusRule', 'Job']),
    );
    for (const more of shown) {
      expect(render({ ...values, pipeline, ...more }, 'bookings').all.length).toBeGreaterThan(9);
    }
  });

  test('helm test asks the service by its name', () => {
    const manifests = render(base);
    const pod = manifests.one('Pod', 'shop-tidemark-test');
    expect(pod.metadata.annotations?.['helm.sh/hook']).toBe('test');
    const env = at(pod, 'spec.containers.0.env') as { name: string; value: string }[];
    expect(env).toContainEqual({ name: 'PIPELINE', value: 'shop' });
    const { value = '' } = env.find(({ name }) => name === 'BASE') ?? {};
    expect(value).toContain(`${manifests.one('Service').metadata.name}`);
  });

  test('a release whose name cannot be that of a Service, or of a pipeline, is refused until both are given', () => {
    const refused = (release: string, values: Values): string =>
      runHelm(helm ?? '', ['template', release, chart], { ...base, ...values }).err;
    expect(refused('my.rel', {})).toContain('fullnameOverride');
    expect(refused('1st', {})).toContain('fullnameOverride');
    expect(refused('my.rel', { fullnameOverride: 'my-rel' })).toContain('pipeline.name');
    const pipeline = { files, name: 'my-rel' };
    expect(refused('my.rel', { fullnameOverride: 'my-rel', pipeline })).toBe('');
  });

  test('a target that is down is known whatever the name of the chart', () => {
    const expression = (values: Values): string => {
      const metrics = { prometheusRule: { enabled: true } };
      const groups = at(
        render({ ...base, ...values, metrics }).one('PrometheusRule'),
        'spec.groups',
      ) as { rules: { alert?: string; expr: string }[] }[];
      const all = groups.flatMap(({ rules }) => rules);
      return all.find(({ alert }) => alert === 'TidemarkTargetDown')?.expr ?? '';
    };
    expect(expression({})).toContain('up{job=~".*tidemark.*"} == 0');
    expect(expression({ nameOverride: 'bookingsvc' })).toContain(
      'up{job=~".*tidemark.*|bookingsvc"} == 0',
    );
  });

  test('topics of Strimzi are made where they are listed, and never deleted by helm', () => {
    const list = [
      { name: 'Orders_v1', partitions: 12, replicas: 3, config: { 'retention.ms': 86_400_000 } },
      { name: 'cur', partitions: 12 },
    ];
    const manifests = render({
      ...base,
      kafkaTopics: { cluster: 'main', namespace: 'kafka', list },
    });
    const topic = manifests.one('KafkaTopic', 'orders-v1');
    expect(topic).toMatchObject({
      metadata: {
        namespace: 'kafka',
        labels: { 'strimzi.io/cluster': 'main' },
        annotations: { 'helm.sh/resource-policy': 'keep' },
      },
      spec: {
        topicName: 'Orders_v1',
        partitions: 12,
        replicas: 3,
        config: { 'retention.ms': 86_400_000 },
      },
    });
    // A hook would be deleted before the next one, and the topic with it.
    expect(topic.metadata.annotations?.['helm.sh/hook']).toBeUndefined();
    expect(at(manifests.one('KafkaTopic', 'cur'), 'spec')).toEqual({
      topicName: 'cur',
      partitions: 12,
    });
    expect(render(base).find('KafkaTopic')).toBeUndefined();
  });

  test('dashboards are found by the sidecar of Grafana', () => {
    const values = { ...base, metrics: { dashboards: { enabled: true, folder: 'Streams' } } };
    const maps = render(values).all.filter(
      ({ metadata }) => metadata.labels?.['grafana_dashboard'] === '1',
    );
    expect(maps.map(({ metadata }) => metadata.name)).toEqual([
      'shop-tidemark-flow-dashboard',
      'shop-tidemark-overview-dashboard',
      'shop-tidemark-retention-dashboard',
    ]);
    for (const map of maps) {
      expect(map.metadata.annotations?.['grafana_folder']).toBe('Streams');
      for (const text of Object.values(at(map, 'data') as Record<string, string>)) {
        expect(JSON.parse(text)).toHaveProperty('panels');
      }
    }
  });

  test.each([
    ['no brokers', { kafka: { brokers: [] } }, 'brokers'],
    ['a broker without a port', { kafka: { brokers: ['kafka'] } }, 'brokers'],
    ['a name that nobody knows', { replicaCout: 2 }, 'replicaCout'],
    ['an option that nobody knows', { config: { commit: { intervalms: 1 } } }, 'intervalms'],
    ['no file', { pipeline: { files: {} } }, 'pipeline.files'],
    [
      'files twice',
      { pipeline: { files, existingConfigMap: 'x', existingConfigMapKeys: ['y'] } },
      'only one',
    ],
    ['a ConfigMap without keys', { pipeline: { existingConfigMap: 'x' } }, 'existingConfigMapKeys'],
    ['two pods with embedded state', { replicaCount: 2 }, 'state.kind'],
    ['scaling with embedded state', { autoscaling: { mode: 'hpa-cpu' } }, 'state.kind'],
    ['Redis without its URL', { state: { kind: 'redis' } }, 'state.redis.existingSecret'],
    [
      'SASL without a password',
      { kafka: { ...base.kafka, sasl: { mechanism: 'plain' } } },
      'existingSecret',
    ],
    [
      'a Secret of TLS without TLS',
      { kafka: { ...base.kafka, tls: { existingSecret: 'x' } } },
      'kafka.tls.enabled',
    ],
    [
      'a Secret of SASL without SASL',
      { kafka: { ...base.kafka, sasl: { existingSecret: 'x' } } },
      'kafka.sasl.mechanism',
    ],
    [
      'a file name that is no key of a ConfigMap',
      { pipeline: { files: { 'a/b.sql': 'x' } } },
      'a/b.sql',
    ],
    ['a name with a dot', { fullnameOverride: 'my.rel' }, 'fullnameOverride'],
    [
      'a name that begins with a digit',
      { nameOverride: '', fullnameOverride: '1a' },
      'fullnameOverride',
    ],
    [
      'a refresh that no plan asks for',
      { gate: { plan: 'never', refresh: ['t'] } },
      'gate.refresh',
    ],
    ['half a certificate', { kafka: { ...base.kafka, tls: { certKey: 'x' } } }, 'belong together'],
    [
      'KEDA without Prometheus',
      { state: redis, autoscaling: { mode: 'keda' } },
      'prometheusAddress',
    ],
    [
      'more replicas than partitions',
      { state: redis, autoscaling: { mode: 'hpa-cpu', partitionsHint: 2 } },
      'stand idle',
    ],
    [
      'fewer at most than at least',
      { state: redis, autoscaling: { mode: 'hpa-cpu', minReplicas: 9 } },
      'minReplicas',
    ],
    [
      'topics of no cluster',
      { kafkaTopics: { list: [{ name: 'a', partitions: 1 }] } },
      'kafkaTopics.cluster',
    ],
    [
      'an alert that nobody knows',
      { metrics: { prometheusRule: { enabled: true, disabledAlerts: ['TidemarkNothing'] } } },
      'TidemarkNothing',
    ],
  ])('%s is refused, with the name of the value', (_, change, name) => {
    expect(refusal({ ...base, ...change })).toContain(name);
  });
}
