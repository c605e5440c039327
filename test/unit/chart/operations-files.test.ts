import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { madeFiles, optionsOfChart } from '../../../scripts/write-operations.ts';
import { metricDeclarations } from '../../../src/adapters/prometheus/metric-declarations.ts';
import { optionDeclarations } from '../../../src/config/options.ts';
import { schemaFaults } from '../../support/json-schema.ts';

const root = resolve(import.meta.dirname, '../../..');

function read(file: string): string {
  return readFileSync(join(root, file), 'utf8');
}

test.each([...madeFiles()])('%s is what its source says now (else: npm run docs)', (file, text) => {
  expect(read(file)).toBe(text);
});

type Rule = {
  readonly alert?: string;
  readonly record?: string;
  readonly expr: string;
  readonly for?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
};

const ruleFile = parse(read('deploy/prometheus/tidemark.rules.yaml')) as {
  groups: { name: string; rules: Rule[] }[];
};
const rules = ruleFile.groups.flatMap((group) => group.rules);
const alerts = rules.filter(({ alert }) => alert !== undefined);

/** Metrics that prom-client or Prometheus itself defines, as far as rules and dashboards use them. */
const foreign = [
  'up',
  'process_cpu_seconds_total',
  'process_resident_memory_bytes',
  'nodejs_eventloop_lag_p99_seconds',
];

/** Every series that may be asked for, with the labels that it has beside those of the scrape. */
const series = new Map<string, readonly string[]>(foreign.map((name) => [name, []]));
for (const { name, type, labels } of metricDeclarations) {
  if (type === 'histogram') {
    series.set(`${name}_bucket`, [...labels, 'le']);
    series.set(`${name}_sum`, labels);
    series.set(`${name}_count`, labels);
  } else {
    series.set(name, labels);
  }
}
const recorded = new Map(
  rules.flatMap(({ record }) => (record === undefined ? [] : [[record, true]])),
);
const scrapeLabels = ['namespace', 'pipeline', 'pod', 'instance', 'job'];

/** Names that an expression asks for and that nobody gives, and labels that a metric does not have. */
function unknownIn(expr: string): string[] {
  const unknown: string[] = [];
  const names = /(?<![\w:"=~$.])((?:tidemark|process|nodejs)[:_][a-z0-9_:]+|up)(?:\{([^}]*)\})?/g;
  for (const [, name = '', selector = ''] of expr.matchAll(names)) {
    if (name.includes(':')) {
      if (!recorded.has(name)) unknown.push(name);
      continue;
    }
    const labels = series.get(name);
    if (labels === undefined) unknown.push(name);
    for (const [, label = ''] of selector.matchAll(/(\w+)\s*(?:=~|!~|!=|=)\s*"/g)) {
      if (
        ![...scrapeLabels, ...(labels ?? []), ...(name === 'up' ? ['job'] : [])].includes(label)
      ) {
        // Recorded series and joins keep the labels that the rule groups by.
        if (!(label === 'flow' && labels?.includes('flow'))) unknown.push(`${name}{${label}}`);
      }
    }
  }
  return unknown;
}

/** Words of label values that an expression compares with, where the declaration has a list of them. */
function wrongValuesIn(expr: string): string[] {
  const wrong: string[] = [];
  for (const [, name = '', selector = ''] of expr.matchAll(
    /(tidemark_[a-z_]+?)(?:_bucket)?\{([^}]*)\}/g,
  )) {
    const values = metricDeclarations.find((metric) => metric.name === name)?.values ?? {};
    for (const [, label = '', text = ''] of selector.matchAll(/(\w+)=~?"([^"$]+)"/g)) {
      const known = values[label];
      if (known === undefined) continue;
      for (const word of text.split('|'))
        if (!known.includes(word)) wrong.push(`${label}="${word}"`);
    }
  }
  return wrong;
}

test('the checker of names finds what is not there', () => {
  expect(unknownIn('sum(rate(tidemark_nothing_total[5m]))')).toEqual(['tidemark_nothing_total']);
  expect(unknownIn('tidemark_ready{color="red"}')).toEqual(['tidemark_ready{color}']);
  expect(unknownIn('tidemark:nothing:sum')).toEqual(['tidemark:nothing:sum']);
  expect(unknownIn('tidemark_commit_duration_seconds > 1')).toHaveLength(1);
  expect(wrongValuesIn('tidemark_keyed_rows_total{outcome="new_key"}')).toEqual([
    'outcome="new_key"',
  ]);
});

describe('rules', () => {
  test.each(rules)('$alert$record asks only for what is declared', ({ expr }) => {
    expect(unknownIn(expr)).toEqual([]);
    expect(wrongValuesIn(expr)).toEqual([]);
  });

  test.each(alerts)('$alert has a severity, texts and a runbook', (rule) => {
    const { alert, labels, annotations } = rule;
    expect(alert).toMatch(/^Tidemark[A-Z][A-Za-z]+$/);
    expect(['critical', 'warning', 'info']).toContain(labels?.['severity']);
    expect(annotations?.['summary']).toBeTruthy();
    expect(annotations?.['description']).toMatch(/\.$/);
    expect(annotations?.['runbook_url']).toBe(`docs/runbooks/${alert}.md`);
  });

  test.each(alerts)('$alert has a test in which it fires', ({ alert }) => {
    const tests = parse(read('deploy/prometheus/tidemark.rules.test.yaml')) as {
      tests: { alert_rule_test: { alertname: string; exp_alerts: unknown[] }[] }[];
    };
    const fired = tests.tests
      .flatMap((one) => one.alert_rule_test)
      .filter(({ alertname, exp_alerts }) => alertname === alert && exp_alerts.length > 0);
    expect(fired.length).toBeGreaterThan(0);
  });
});

describe('runbooks', () => {
  const pages = readdirSync(join(root, 'docs/runbooks')).filter((name) => name !== 'README.md');

  test.each(['README.md', ...pages])(
    '%s says how its commands are given on Kubernetes, wherever it has one',
    (page) => {
      const [, second = '', ...rest] = read(`docs/runbooks/${page}`).split('\n\n');
      const hasCommand = rest.join('\n\n').includes('`tidemark ');
      expect(
        second.startsWith('> `tidemark VERB …` on Kubernetes: `kubectl exec POD -- node /opt/'),
      ).toBe(hasCommand);
      const shared = read('docs/runbooks/README.md').split('\n\n')[1];
      if (hasCommand) expect(second).toBe(shared);
    },
  );

  test('there is one for each alert, and none beside', () => {
    expect(pages.sort()).toEqual(alerts.map(({ alert }) => `${alert}.md`).sort());
  });

  test.each(pages)('%s tells meaning, impact, diagnosis and mitigation', (page) => {
    const text = read(`docs/runbooks/${page}`);
    expect(text.startsWith(`# ${page.replace('.md', '')}\n`)).toBe(true);
    const titles = [...text.matchAll(/^## (.+)$/gm)].map(([, title]) => title);
    expect(titles).toEqual(['Meaning', 'Impact', 'Diagnosis', 'Mitigation']);
    for (const [, metric = ''] of text.matchAll(/`(tidemark_[a-z_]+)/g)) {
      expect([...series.keys(), ...metricDeclarations.map(({ name }) => name)]).toContain(metric);
    }
    const links = [...text.matchAll(/\]\((?!https?:)([^)#\s]+)[^)]*\)/g)].map(
      ([, link]) => link ?? '',
    );
    for (const link of links) expect(existsSync(join(root, 'docs/runbooks', link))).toBe(true);
  });

  test('the list has each of them with its severity', () => {
    const list = read('docs/runbooks/README.md');
    for (const { alert, labels } of alerts) {
      expect(list).toContain(`| [${alert}](${alert}.md) | ${labels?.['severity']} |`);
    }
  });
});

type Panel = {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly description?: string;
  readonly gridPos: {
    readonly x: number;
    readonly y: number;
    readonly w: number;
    readonly h: number;
  };
  readonly fieldConfig?: { readonly defaults: { readonly unit?: string } };
  readonly targets?: readonly { readonly expr: string }[];
};

const dashboardNames = readdirSync(join(root, 'deploy/grafana/dashboards'));

describe.each(dashboardNames)('dashboard %s', (name) => {
  const dashboard = JSON.parse(read(`deploy/grafana/dashboards/${name}`)) as {
    readonly uid: string;
    readonly panels: readonly Panel[];
    readonly templating: { readonly list: readonly { readonly name: string }[] };
  };
  const panels = dashboard.panels.filter(({ type }) => type !== 'row');

  test('shows only what is declared', () => {
    const variables = dashboard.templating.list.map((one) => one.name);
    for (const { targets } of panels) {
      for (const { expr } of targets ?? []) {
        expect(unknownIn(expr)).toEqual([]);
        expect(wrongValuesIn(expr)).toEqual([]);
        for (const [, variable = ''] of expr.matchAll(/"\$(\w+)"/g))
          expect(variables).toContain(variable);
      }
    }
  });

  test('each panel says what it shows, in which unit, over the range that is looked at', () => {
    expect(panels.length).toBeGreaterThan(4);
    for (const { title, description, fieldConfig, targets } of panels) {
      expect(title).not.toBe('');
      expect(description).toMatch(/\.$/);
      expect(fieldConfig?.defaults.unit).toBeTruthy();
      expect(targets?.length).toBeGreaterThan(0);
      for (const { expr } of targets ?? []) {
        expect(expr).not.toMatch(/\[\d+[smhd]\]/);
        if (/\b(rate|increase)\(/.test(expr)) expect(expr).toContain('$__rate_interval');
      }
    }
  });

  test('no two panels lie over each other, and none leaves the page', () => {
    const taken = new Set<string>();
    for (const { gridPos } of dashboard.panels) {
      expect(gridPos.x + gridPos.w).toBeLessThanOrEqual(24);
      for (let x = gridPos.x; x < gridPos.x + gridPos.w; x += 1) {
        for (let y = gridPos.y; y < gridPos.y + gridPos.h; y += 1) {
          expect(taken.has(`${x}/${y}`)).toBe(false);
          taken.add(`${x}/${y}`);
        }
      }
    }
    expect(new Set(dashboard.panels.map(({ id }) => id)).size).toBe(dashboard.panels.length);
  });
});

describe('values of the chart', () => {
  type Schema = {
    readonly properties?: Readonly<Record<string, Schema>>;
    readonly [word: string]: unknown;
  };
  const schema = JSON.parse(read('helm/tidemark/values.schema.json')) as Schema;
  const values = parse(read('helm/tidemark/values.yaml')) as Record<string, unknown>;
  const needed = {
    ...values,
    kafka: { ...(values['kafka'] as object), brokers: ['kafka:9092'] },
  };

  test('the defaults fit the schema once the brokers are named', () => {
    expect(schemaFaults(schema, needed)).toEqual([]);
  });

  test.each([
    [{ replicaCout: 2 }, 'replicaCout'],
    [{ kafka: { brokers: [] } }, 'brokers'],
    [{ kafka: { brokers: ['kafka'] } }, 'brokers'],
    [{ kafka: { brokers: ['kafka:9092'], broker: 'x' } }, 'broker'],
    [{ workload: 'DaemonSet' }, 'workload'],
    [{ config: { commit: { intervalms: 5 } } }, 'intervalms'],
    [{ config: { commit: { intervalMs: 0 } } }, 'intervalMs'],
    [{ config: { kafka: { brokers: ['x:1'] } } }, 'brokers'],
    [{ config: { kafka: { saslPassword: 'x' } } }, 'saslPassword'],
    [{ autoscaling: { mode: 'lag' } }, 'mode'],
    [{ image: { digest: 'sha256:1' } }, 'digest'],
    [{ metrics: { prometheusRule: { overrides: { TidemarkStalled: { fro: '5m' } } } } }, 'fro'],
  ])('%j is refused by its name', (change, name) => {
    const faults = schemaFaults(schema, { ...needed, ...change });
    expect(faults).not.toEqual([]);
    expect(faults.join(' ')).toContain(name);
  });

  /** Objects that the schema leaves to Kubernetes have no properties of their own. */
  function missing(part: Schema, value: unknown, path: string): string[] {
    if (part.properties === undefined || path === '.config') return [];
    const given = (value ?? {}) as Record<string, unknown>;
    return Object.entries(part.properties).flatMap(([name, one]) =>
      name in given || name === 'global'
        ? missing(one, given[name], `${path}.${name}`)
        : [`${path}.${name}`],
    );
  }

  test('values.yaml shows everything that the schema knows', () => {
    expect(missing(schema, values, '')).toEqual([]);
  });

  test('every option is either set by the chart or open under config', () => {
    const known = optionDeclarations.map(({ name }) => name);
    expect(optionsOfChart.filter((name) => !known.includes(name))).toEqual([]);
    const isOpen = (name: string): boolean => {
      let part: Schema | undefined = schema.properties?.['config'];
      for (const word of name.split('.')) part = part?.properties?.[word];
      return part !== undefined;
    };
    for (const { name, secret } of optionDeclarations) {
      expect(isOpen(name)).toBe(secret !== true && !optionsOfChart.includes(name));
    }
  });

  test('versions of chart and package are one', () => {
    const { version } = JSON.parse(read('package.json')) as { version: string };
    expect(parse(read('helm/tidemark/Chart.yaml'))).toMatchObject({ version, appVersion: version });
    expect(read('Dockerfile')).toContain(`ARG VERSION=${version}\n`);
    expect(read('src/cli/version.ts')).toContain(`'${version}'`);
  });
});

test('the image: a user of its own, no builder that a registry has to bring, everything that is copied is there', () => {
  const text = read('Dockerfile');
  expect(text).toMatch(/^USER 10001:10001$/m);
  expect(text).not.toMatch(/^#\s*syntax/m);
  expect(text).not.toContain('--mount');
  expect(text).toMatch(/^ARG BASE_IMAGE=/m);
  expect(text).toContain('npm ci --omit=dev');
  // The SDK of traces is found from /opt/tidemark, and has its own dependencies beside it.
  expect(text).toMatch(/^ARG WITH_TRACES=0\nWORKDIR \/out\/traces$/m);
  expect(text).toContain('COPY --from=packages /out/traces /opt\n');
  for (const name of ['sdk-trace-node', 'resources', 'exporter-trace-otlp-http']) {
    expect(text).toMatch(new RegExp(`@opentelemetry/${name}@\\d+\\.\\d+\\.\\d+`));
  }
  expect(text).toMatch(/^ENTRYPOINT \["node"/m);
  // It would win over whatever file somebody mounts.
  expect(text).not.toMatch(/^(ENV .*|\s+)TIDEMARK_\w+=/m);
  const ignored = read('.dockerignore');
  for (const [, sources = ''] of text.matchAll(/^COPY (?!--from)(.+) \S+$/gm)) {
    for (const source of sources.split(' ')) {
      expect(existsSync(join(root, source))).toBe(true);
      expect(ignored).toMatch(new RegExp(`^!${source.replaceAll('.', '\\.')}$`, 'm'));
    }
  }
});
