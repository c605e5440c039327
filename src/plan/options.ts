import type { Place } from '../base/place.ts';
import type { Option, OptionValue, TableBody } from '../sql/ast.ts';
import { listed, nameHint } from './bind/name-hint.ts';
import { topicNameFault } from './bind/names.ts';
import { parseDurationMicros } from './duration.ts';
import { type FaultList, planFault, planWarning } from './faults.ts';

/** What an option may hold. */
type OptionKind =
  | { readonly kind: 'topic' }
  | { readonly kind: 'file' }
  | { readonly kind: 'integer'; readonly min: number; readonly max: number }
  | {
      readonly kind: 'choice';
      readonly values: readonly string[];
      readonly later?: readonly string[];
    }
  | { readonly kind: 'duration'; readonly words: readonly string[] }
  | { readonly kind: 'number' }
  | { readonly kind: 'share' };

type OptionKinds = Readonly<Record<string, OptionKind>>;

/** The options of CREATE SOURCE … WITH. */
const sourceOptions = {
  topic: { kind: 'topic' },
  file: { kind: 'file' },
  format: {
    kind: 'choice',
    values: ['json', 'string', 'bytes', 'debezium-json', 'csv'],
    later: ['avro', 'protobuf'],
  },
  tombstones: { kind: 'choice', values: ['skip', 'bad'] },
  refresh_interval: { kind: 'duration', words: [] },
} as const satisfies OptionKinds;

/** The options of CREATE STREAMING TABLE … WITH. */
const tableOptions = {
  topic: { kind: 'topic' },
  partitions: { kind: 'integer', min: 1, max: 100_000 },
  output: { kind: 'choice', values: ['row_set', 'rows'] },
  dead_letter_topic: { kind: 'topic' },
  max_dead_letter_share: { kind: 'share' },
  max_row_set_rows: { kind: 'integer', min: 1, max: 2_147_483_647 },
  max_sequence: { kind: 'number' },
  max_sequence_ahead: { kind: 'duration', words: [] },
  max_event_time_ahead: { kind: 'duration', words: [] },
  tombstone_retention: { kind: 'duration', words: ['forever'] },
  ties: { kind: 'choice', values: ['keep'] },
  refresh_every: { kind: 'duration', words: [] },
} as const satisfies OptionKinds;

/** The options of CREATE SINK … WITH: what is written to a topic of somebody else is one row a record. */
const sinkOptions = {
  topic: { kind: 'topic' },
  partitions: { kind: 'integer', min: 1, max: 100_000 },
  dead_letter_topic: { kind: 'topic' },
} as const satisfies OptionKinds;

/** The options of CREATE MATERIALIZED VIEW … WITH. */
const viewOptions = {
  topic: { kind: 'topic' },
  partitions: { kind: 'integer', min: 1, max: 100_000 },
  refresh_every: { kind: 'duration', words: [] },
} as const satisfies OptionKinds;

const optionsOf: Readonly<Record<OptionOwner['noun'], OptionKinds>> = {
  source: sourceOptions,
  'streaming table': tableOptions,
  sink: sinkOptions,
  'materialized view': viewOptions,
};

/** A value that stood in an option, with the place to blame for it. */
export type Given<T> = { readonly value: T; readonly place: Place };

export type OptionValues = {
  readonly text: (key: string) => Given<string> | undefined;
  readonly integer: (key: string) => Given<number> | undefined;
  /** Microseconds; undefined too for the words that mean "no bound". */
  readonly durationMicros: (key: string) => Given<bigint> | undefined;
};

/** No option is given. */
export const noOptions: OptionValues = {
  text: () => undefined,
  integer: () => undefined,
  durationMicros: () => undefined,
};

export type OptionOwner = {
  readonly noun: 'source' | 'streaming table' | 'sink' | 'materialized view';
  readonly name: string;
};

/**
 * Reads the options of a source or table. Invariant: what it gives has the kind that the option
 * declares; everything else became a fault.
 */
export function readOptions(owner: OptionOwner, body: TableBody, faults: FaultList): OptionValues {
  const kinds = optionsOf[owner.noun];
  const given = new Map<string, Given<string | number | bigint>>();
  const seen = new Set<string>();
  for (const option of body.options) {
    const key = option.key.toLowerCase();
    if (option.clause === 'tblproperties') {
      warnOfProperty(option, kinds, faults);
      continue;
    }
    if (seen.has(key)) {
      faults.add(planFault('OPTION_DUPLICATE', `option "${key}" is given twice`, option.place));
      continue;
    }
    seen.add(key);
    const kind = Object.hasOwn(kinds, key) ? kinds[key] : undefined;
    if (kind === undefined) {
      const hint = nameHint(key, Object.keys(kinds), `options of a ${owner.noun}`);
      const message = `${owner.noun} "${owner.name}" has no option "${option.key}"`;
      faults.add(planFault('OPTION_UNKNOWN', message, option.place, { hint }));
      continue;
    }
    const value = readValue(option, kind, faults);
    if (value !== undefined) given.set(key, { value, place: option.place });
  }
  return {
    text: (key) => pick(given, key, (value) => (typeof value === 'string' ? value : undefined)),
    integer: (key) => pick(given, key, (value) => (typeof value === 'number' ? value : undefined)),
    durationMicros: (key) =>
      pick(given, key, (value) => (typeof value === 'bigint' ? value : undefined)),
  };
}

function pick<T>(
  given: ReadonlyMap<string, Given<string | number | bigint>>,
  key: string,
  narrow: (value: string | number | bigint) => T | undefined,
): Given<T> | undefined {
  const entry = given.get(key);
  const value = entry === undefined ? undefined : narrow(entry.value);
  return entry === undefined || value === undefined ? undefined : { value, place: entry.place };
}

function warnOfProperty(option: Option, kinds: OptionKinds, faults: FaultList): void {
  const key = option.key.toLowerCase();
  if (!Object.hasOwn(kinds, key)) return;
  faults.add(
    planWarning('OPTION_MISPLACED', `table property "${key}" is not read`, option.place, {
      hint: `Write it as an option: WITH (${key} = …).`,
    }),
  );
}

function readValue(
  option: Option,
  kind: OptionKind,
  faults: FaultList,
): string | number | bigint | undefined {
  const refuse = (
    expected: string,
    code: 'OPTION_VALUE' | 'TOPIC_NAME_INVALID' = 'OPTION_VALUE',
  ) => {
    const message = `option "${option.key.toLowerCase()}" cannot be ${shown(option.value)}`;
    faults.add(planFault(code, message, option.place, { hint: expected }));
    return undefined;
  };
  switch (kind.kind) {
    case 'topic':
      return readTopic(option.value, refuse);
    case 'file':
      return typeof option.value === 'string' && option.value !== ''
        ? option.value
        : refuse('A path is text in quotes.');
    case 'integer':
      return readInteger(option.value, kind, refuse);
    case 'choice':
      return readChoice(option, kind, faults);
    case 'number':
      return readNumber(option.value, refuse);
    case 'share':
      return readShare(option.value, refuse);
    case 'duration':
      return readDuration(option.value, kind.words, refuse);
  }
}

type Refuse = (expected: string, code?: 'OPTION_VALUE' | 'TOPIC_NAME_INVALID') => undefined;

function readTopic(value: OptionValue, refuse: Refuse): string | undefined {
  if (typeof value !== 'string') return refuse('A topic name is text in quotes.');
  const reason = topicNameFault(value);
  if (reason === undefined) return value;
  return refuse(`Kafka refuses this topic name: ${reason}.`, 'TOPIC_NAME_INVALID');
}

function readInteger(
  value: OptionValue,
  bounds: { min: number; max: number },
  refuse: Refuse,
): number | undefined {
  const number = typeof value === 'string' && /^\d{1,15}$/u.test(value) ? Number(value) : value;
  const isFine =
    typeof number === 'number' &&
    Number.isInteger(number) &&
    number >= bounds.min &&
    number <= bounds.max;
  return isFine ? number : refuse(`It is a whole number from ${bounds.min} to ${bounds.max}.`);
}

function readChoice(
  option: Option,
  kind: Extract<OptionKind, { kind: 'choice' }>,
  faults: FaultList,
): string | undefined {
  const value = typeof option.value === 'string' ? option.value.toLowerCase() : undefined;
  if (value !== undefined && kind.values.includes(value)) return value;
  const key = option.key.toLowerCase();
  if (value !== undefined && kind.later?.includes(value) === true) {
    const hint = `This version reads ${listed(kind.values, 'and')}.`;
    const message = `${key} "${value}" is not supported yet`;
    faults.add(planFault('NOT_SUPPORTED_YET', message, option.place, { hint }));
    return undefined;
  }
  const hint = nameHint(String(option.value), kind.values, 'values');
  const message = `option "${key}" cannot be ${shown(option.value)}`;
  faults.add(planFault('OPTION_VALUE', message, option.place, { hint }));
  return undefined;
}

function readNumber(value: OptionValue, refuse: Refuse): string | undefined {
  if (typeof value === 'number' && Number.isInteger(value) && !Number.isSafeInteger(value)) {
    return refuse('Write a number beyond 2^53 in quotes, so that it keeps every digit.');
  }
  const text = String(value).trim();
  if (/^-?(\d+(\.\d*)?|\.\d+)$/u.test(text)) return text;
  return refuse('It is a number.');
}

function readShare(value: OptionValue, refuse: Refuse): string | undefined {
  const text = String(value).trim();
  if (/^(0(\.\d*)?|\.\d+|1(\.0*)?)$/u.test(text)) return text;
  return refuse('It is a share from 0 to 1, such as 0.1.');
}

function readDuration(
  value: OptionValue,
  words: readonly string[],
  refuse: Refuse,
): bigint | string | undefined {
  if (typeof value === 'string' && words.includes(value.toLowerCase())) return value.toLowerCase();
  const micros = typeof value === 'string' ? parseDurationMicros(value) : undefined;
  if (micros !== undefined && micros > 0n) return micros;
  const orWords = words.length === 0 ? '' : `, or ${listed(words, 'or')}`;
  return refuse(`It is an interval of fixed length such as '1 day' or '90 seconds'${orWords}.`);
}

function shown(value: OptionValue): string {
  return typeof value === 'string' ? JSON.stringify(value) : String(value);
}

/** The clauses that would protect rows elsewhere: ignoring one could show rows to the wrong reader. */
const protectingClauses: readonly string[] = ['ROW FILTER', 'MASK', 'COLUMN MASK'];

/** Judges the clauses that mean something on other systems only. */
export function checkClauses(body: TableBody, faults: FaultList): void {
  for (const { clause, place } of body.clauses) {
    const name = clause.toUpperCase();
    // The first word of WITH ROW FILTER, which follows as a clause of its own.
    if (name === 'WITH ROW') continue;
    if (protectingClauses.includes(name)) {
      faults.add(
        planFault('CLAUSE_REFUSED', `${name} cannot be enforced on a topic`, place, {
          hint: 'Filter or mask the rows in the query, or with the access rules of the broker.',
        }),
      );
    } else {
      faults.add(
        planWarning('CLAUSE_IGNORED', `${name} has no meaning here and is ignored`, place),
      );
    }
  }
}
