import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type OptionDeclaration, optionDeclarations } from '../src/config/options.ts';
import { dashboardFiles } from './dashboards.ts';

const root = resolve(import.meta.dirname, '..');
const rules = 'deploy/prometheus/tidemark.rules.yaml';
const chart = 'helm/tidemark';
const schema = `${chart}/values.schema.json`;

/** Options that the chart sets itself, from values of its own or because a pod demands it. */
export const optionsOfChart: readonly string[] = [
  'pipeline.name',
  'pipeline.files',
  'instance.name',
  'kafka.brokers',
  'kafka.ssl',
  'kafka.sslCaFile',
  'kafka.sslCertFile',
  'kafka.sslKeyFile',
  'kafka.saslMechanism',
  'kafka.saslUsername',
  'kafka.saslPasswordFile',
  'kafka.transactionTimeoutMs',
  'state.kind',
  'state.directory',
  'redis.urlFile',
  'group.static',
  'http.enabled',
  'http.host',
  'http.port',
  'http.tokenFile',
  'retry.startTimeoutMs',
];

/** Every file of deploy and helm that is made from something else, with the text that it has to have. */
export function madeFiles(): ReadonlyMap<string, string> {
  const made = new Map<string, string>();
  made.set(`${chart}/files/tidemark.rules.yaml`, readFileSync(join(root, rules), 'utf8'));
  for (const [name, text] of dashboardFiles()) {
    made.set(`deploy/grafana/dashboards/${name}`, text);
    made.set(`${chart}/files/dashboards/${name}`, text);
  }
  made.set(schema, schemaWithOptions());
  return made;
}

/** The chart's schema with the part `config` as the options of the service are now. */
function schemaWithOptions(): string {
  const parsed = JSON.parse(readFileSync(join(root, schema), 'utf8')) as {
    properties: Record<string, unknown>;
  };
  parsed.properties['config'] = configSchema();
  return `${JSON.stringify(parsed, undefined, 2)}\n`;
}

type Node = {
  type: 'object';
  additionalProperties: false;
  description?: string;
  properties: Record<string, unknown>;
};

function configSchema(): Node {
  const tree: Node = {
    type: 'object',
    additionalProperties: false,
    description: 'Further options of the service, as in tidemark.yaml.',
    properties: {},
  };
  for (const option of optionDeclarations) {
    if (option.secret === true || optionsOfChart.includes(option.name)) continue;
    const parts = option.name.split('.');
    let node = tree;
    for (const part of parts.slice(0, -1)) {
      node.properties[part] ??= { type: 'object', additionalProperties: false, properties: {} };
      node = node.properties[part] as Node;
    }
    node.properties[parts.at(-1) ?? ''] = optionSchema(option);
  }
  return tree;
}

function optionSchema({ kind, choices, min, max, doc }: OptionDeclaration): object {
  switch (kind) {
    case 'int':
      return {
        type: 'integer',
        ...(min === undefined ? {} : { minimum: min }),
        ...(max === undefined ? {} : { maximum: max }),
        description: doc,
      };
    case 'boolean':
      return { type: 'boolean', description: doc };
    case 'list':
      return { type: 'array', items: { type: 'string' }, description: doc };
    case 'choice':
      return { enum: choices, description: doc };
    case 'string':
      return { type: 'string', description: doc };
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  for (const [file, text] of madeFiles()) {
    const path = join(root, file);
    const isCurrent = existsSync(path) && readFileSync(path, 'utf8') === text;
    if (!isCurrent) {
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, text);
    }
    process.stdout.write(`${file}: ${isCurrent ? 'current' : 'written'}\n`);
  }
}
