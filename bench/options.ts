import { parseArgs } from 'node:util';
import type { Workload } from './generate.ts';

export type BenchOptions = {
  readonly work: Workload;
  readonly records: number;
  /** Distinct keys to draw from; undefined: what the work says. */
  readonly keys: number | undefined;
  readonly seed: number;
  readonly output: 'row_set' | 'rows';
  readonly state: 'redis' | 'embedded';
  readonly commitMs: number;
  readonly partitions: number;
  readonly delivery: 'exactly_once' | 'at_least_once';
  readonly json: boolean;
  /** Leaves topics and state where they are. */
  readonly keep: boolean;
};

export const usage = `npm run bench -- [options]
  --work w1-a|w1-b|w2       w1-a: 10 records a key, without record keys (default); w1-b: with them; w2: Zipf
  --records N               default 2000000
  --keys N                  keys to draw from; default: a tenth of the records, with w2 half of them
  --seed N                  of the generator, default 1
  --output row_set|rows     of the table, default row_set
  --state redis|embedded    default redis
  --commit-ms N             default 1000
  --partitions N            of the source topic, default 4
  --delivery MODE           exactly_once (default) or at_least_once
  --keep                    leave topics and state behind
  --json                    one JSON document on standard output
`;

/** Throws an Error with what is wrong. */
export function benchOptions(args: readonly string[]): BenchOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      work: { type: 'string', default: 'w1-a' },
      records: { type: 'string', default: '2000000' },
      keys: { type: 'string' },
      seed: { type: 'string', default: '1' },
      output: { type: 'string', default: 'row_set' },
      state: { type: 'string', default: 'redis' },
      'commit-ms': { type: 'string', default: '1000' },
      partitions: { type: 'string', default: '4' },
      delivery: { type: 'string', default: 'exactly_once' },
      json: { type: 'boolean', default: false },
      keep: { type: 'boolean', default: false },
    },
  });
  return {
    work: oneOf('work', values.work, ['w1-a', 'w1-b', 'w2']),
    records: whole('records', values.records),
    keys: values.keys === undefined ? undefined : whole('keys', values.keys),
    seed: whole('seed', values.seed),
    output: oneOf('output', values.output, ['row_set', 'rows']),
    state: oneOf('state', values.state, ['redis', 'embedded']),
    commitMs: whole('commit-ms', values['commit-ms']),
    partitions: whole('partitions', values.partitions),
    delivery: oneOf('delivery', values.delivery, ['exactly_once', 'at_least_once']),
    json: values.json,
    keep: values.keep,
  };
}

function oneOf<const Choice extends string>(
  name: string,
  value: string,
  choices: readonly Choice[],
): Choice {
  const found = choices.find((choice) => choice === value);
  if (found === undefined) throw new Error(`--${name} takes ${choices.join(', ')}`);
  return found;
}

function whole(name: string, text: string): number {
  const number = Number(text);
  if (!Number.isSafeInteger(number) || number < 1) {
    throw new Error(`--${name} takes a whole number from 1`);
  }
  return number;
}
