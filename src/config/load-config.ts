import { existsSync, readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { parseDocument, visit } from 'yaml';
import { FlowError } from '../base/errors.ts';
import { nearestNames } from '../base/nearest-name.ts';
import {
  type Config,
  environmentName,
  flagName,
  type OptionDeclaration,
  type OptionName,
  optionDeclarations,
} from './options.ts';

export type ConfigSources = {
  /** `--config FILE`; undefined: `tidemark.yaml` in the working directory where there is one. */
  readonly file: string | undefined;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Option name → text, from the command line. */
  readonly flags: ReadonlyMap<string, string>;
};

const defaultFile = 'tidemark.yaml';

/**
 * Reads the configuration: file, then environment, then flags, the later one winning. Invariant: either
 * every option has a checked value, or one error tells all faults at once, each with the option's own name.
 */
export function loadConfig(sources: ConfigSources): Config {
  const faults: string[] = [];
  const raw = new Map<string, { readonly value: unknown; readonly origin: string }>();
  for (const [name, value] of readFile(sources.file, faults)) {
    raw.set(name, { value, origin: sources.file ?? defaultFile });
  }
  for (const { name } of optionDeclarations) {
    const variable = environmentName(name);
    const value = sources.environment[variable];
    if (value !== undefined && value !== '') raw.set(name, { value, origin: variable });
  }
  for (const [name, value] of sources.flags) raw.set(name, { value, origin: flagName(name) });
  const config: Record<string, unknown> = {};
  for (const option of optionDeclarations) {
    const given = raw.get(option.name);
    raw.delete(option.name);
    if (given === undefined) {
      config[option.name] = option.default;
      continue;
    }
    const checked = checkValue(option, given.value);
    if (typeof checked === 'object' && checked !== null && 'fault' in checked) {
      faults.push(`${option.name} (from ${given.origin}): ${checked.fault}`);
    } else {
      config[option.name] = checked;
    }
  }
  for (const [name, { origin }] of raw) {
    faults.push(`${name} (from ${origin}): there is no such option${nearest(name)}`);
  }
  readSecretFiles(config, faults);
  config['instance.name'] ??= hostname();
  checkTogether(config, faults);
  if (faults.length > 0) {
    throw new FlowError('CONFIG_INVALID', 'the configuration is invalid', {
      detail: faults.map((fault) => (fault.endsWith('?') ? fault : `${fault}.`)).join('\n'),
      hint: 'tidemark config --help lists every option with its default.',
    });
  }
  return config as Config;
}

function readFile(file: string | undefined, faults: string[]): Map<string, unknown> {
  const path = file ?? defaultFile;
  if (file === undefined && !existsSync(path)) return new Map();
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    faults.push(`${path}: it cannot be read (${(error as NodeJS.ErrnoException).code ?? 'error'})`);
    return new Map();
  }
  const document = parseDocument(text);
  if (document.errors.length > 0) {
    // The first line alone: the others quote the file, and a secret may stand there by mistake.
    const [reason = 'it is no YAML'] = (document.errors[0]?.message ?? '').split(':\n');
    faults.push(`${path}: ${reason}`);
    return new Map();
  }
  // A name such as 010 or 1e3 is what is written there, not the number that YAML makes of it.
  visit(document, {
    Scalar(_, node) {
      if (typeof node.value === 'number') node.value = node.source ?? String(node.value);
    },
  });
  const values = new Map<string, unknown>();
  flatten('', document.toJS() as unknown, values);
  for (const { name, secret } of optionDeclarations) {
    if (secret === true && values.has(name)) {
      values.delete(name);
      faults.push(
        `${name} (from ${path}): a secret does not belong into this file; use ${secretWays(name)}`,
      );
    }
  }
  return values;
}

function flatten(prefix: string, value: unknown, values: Map<string, unknown>): void {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) {
    if (prefix !== '') values.set(prefix, value);
    return;
  }
  for (const [key, member] of Object.entries(value)) {
    const name = prefix === '' ? key : `${prefix}.${key}`;
    // `kafka.ssl` is an option by itself, so only what is no option is looked into.
    flatten(name, member, values);
  }
}

function checkValue(option: OptionDeclaration, value: unknown): unknown {
  switch (option.kind) {
    case 'string':
      return typeof value === 'string' || typeof value === 'number'
        ? String(value)
        : { fault: 'it has to be a text' };
    case 'boolean':
      if (value === true || value === 'true') return true;
      if (value === false || value === 'false') return false;
      return { fault: 'it has to be true or false' };
    case 'list':
      if (Array.isArray(value)) return value.map(String);
      return String(value)
        .split(',')
        .map((item) => item.trim())
        .filter((item) => item !== '');
    case 'choice':
      return option.choices?.includes(String(value))
        ? String(value)
        : { fault: `it has to be one of ${option.choices?.join(', ')}` };
    case 'int': {
      const number = typeof value === 'number' ? value : Number(String(value));
      const { min = Number.MIN_SAFE_INTEGER, max = Number.MAX_SAFE_INTEGER } = option;
      return Number.isSafeInteger(number) && number >= min && number <= max && value !== ''
        ? number
        : { fault: `it has to be a whole number from ${min} to ${max}` };
    }
  }
}

function readSecretFiles(config: Record<string, unknown>, faults: string[]): void {
  for (const [target, source] of [
    ['kafka.saslPassword', 'kafka.saslPasswordFile'],
    ['redis.url', 'redis.urlFile'],
    ['redis.password', 'redis.passwordFile'],
    ['redis.sentinelPassword', 'redis.sentinelPasswordFile'],
    ['http.token', 'http.tokenFile'],
  ] as const) {
    const path = config[source];
    if (typeof path !== 'string') continue;
    try {
      config[target] = readFileSync(path, 'utf8').trim();
    } catch {
      faults.push(`${source}: file ${path} cannot be read`);
    }
  }
}

function checkTogether(config: Record<string, unknown>, faults: string[]): void {
  if (config['kafka.saslMechanism'] !== 'none' && config['kafka.saslPassword'] === undefined) {
    faults.push('kafka.saslPassword: it is needed with kafka.saslMechanism');
  }
  for (const option of ['kafka.brokers', 'redis.sentinels', 'redis.clusterNodes'] as const) {
    for (const address of (config[option] as readonly string[] | undefined) ?? []) {
      // What stands before an @ may be a password: it is not quoted.
      if (address.includes('@')) faults.push(`${option}: an address is host:port, without a user`);
      else if (!isAddress(address)) {
        faults.push(`${option}: "${address}" is no host:port with a port of 1 to 65535`);
      }
    }
  }
  checkRedis(config, faults);
  const name = config['pipeline.name'];
  // The first dot in a group <pipeline>.<flow> ends the pipeline: a flow may have dots in its name.
  if (typeof name === 'string' && !/^[a-zA-Z0-9_-]{1,100}$/.test(name)) {
    faults.push(
      'pipeline.name: only letters, digits, hyphen and underscore, at most 100; a dot parts it from the flow in the names of groups and topics',
    );
  }
  if (Number(config['retry.delayMinMs']) > Number(config['retry.delayMaxMs'])) {
    faults.push('retry.delayMinMs: it is above retry.delayMaxMs');
  }
}

function isAddress(text: string): boolean {
  const port = /^(?:[^\s:/]+|\[[0-9a-fA-F:]+\]):(\d{1,5})$/.exec(text)?.[1];
  return port !== undefined && Number(port) >= 1 && Number(port) <= 65_535;
}

function checkRedis(config: Record<string, unknown>, faults: string[]): void {
  const isGiven = (name: OptionName): boolean => (config[name] as readonly string[]).length > 0;
  const hasMaster = config['redis.sentinelMaster'] !== undefined;
  if (config['redis.sentinels'] === undefined || config['redis.clusterNodes'] === undefined) return;
  if (isGiven('redis.sentinels') && isGiven('redis.clusterNodes')) {
    faults.push('redis.clusterNodes: a cluster has no sentinels; give one of both');
  }
  if (isGiven('redis.sentinels') && !hasMaster) {
    faults.push('redis.sentinelMaster: it is needed with redis.sentinels');
  }
  if (!isGiven('redis.sentinels') && hasMaster) {
    faults.push('redis.sentinels: they are needed with redis.sentinelMaster');
  }
  for (const [one, other] of [
    ['redis.tlsCertFile', 'redis.tlsKeyFile'],
    ['redis.tlsKeyFile', 'redis.tlsCertFile'],
  ] as const) {
    if (config[one] !== undefined && config[other] === undefined) {
      faults.push(`${other}: it is needed with ${one}`);
    }
  }
}

/** Refuses a verb that needs options which have no value. */
export function requireOptions(config: Config, names: readonly OptionName[]): void {
  const missing = names.filter((name) => {
    const value = config[name];
    return value === undefined || (Array.isArray(value) && value.length === 0);
  });
  if (missing.length === 0) return;
  throw new FlowError('CONFIG_INVALID', `option ${missing.join(', ')} is missing`, {
    detail: missing
      .map((name) =>
        isSecret(name)
          ? `Give ${name} as ${secretWays(name)}: it is a secret, and has no flag.`
          : `Give ${name} in tidemark.yaml, as ${environmentName(name)} or as ${flagName(name)}.`,
      )
      .join(' '),
  });
}

/** The effective values, for people: secrets are masked. */
export function shownConfig(config: Config): Record<string, unknown> {
  return Object.fromEntries(
    optionDeclarations.map(({ name, secret }) => {
      const value = config[name as OptionName];
      return [name, secret === true && value !== undefined ? '***' : (value ?? null)];
    }),
  );
}

/** Of these, those that differ from the default. */
export function changedConfig(config: Config): Record<string, unknown> {
  const shown = shownConfig(config);
  return Object.fromEntries(
    optionDeclarations.flatMap(({ name, default: usual = null }) =>
      JSON.stringify(shown[name]) === JSON.stringify(usual) ? [] : [[name, shown[name]]],
    ),
  );
}

function nearest(name: string): string {
  const [best] = nearestNames(
    name,
    optionDeclarations.map((option) => option.name),
  );
  return best === undefined ? '' : `; did you mean ${best}?`;
}

/** Where a secret may stand: in the environment, or in a file of its own. */
function secretWays(name: string): string {
  const file = optionDeclarations.find((option) => option.name === `${name}File`);
  return file === undefined ? environmentName(name) : `${environmentName(name)} or ${file.name}`;
}

function isSecret(name: OptionName): boolean {
  return optionDeclarations.some((one) => one.name === name && one.secret === true);
}
