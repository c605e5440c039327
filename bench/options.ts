import { parseArgs } from 'node:util';

export const works = [
  'w1-a',
  'w1-b',
  'w2',
  'w2-a',
  'expressions',
  'memory',
  'latency',
  'restore',
  'kill',
  'idle',
  'instances',
] as const;

export type Work = (typeof works)[number];

export type BenchOptions = {
  readonly work: Work;
  readonly records: number;
  /** Distinct keys to draw from; undefined: what the work says. */
  readonly keys: number | undefined;
  readonly seed: number;
  readonly output: 'row_set' | 'rows';
  readonly state: 'redis' | 'embedded';
  readonly commitMs: number;
  readonly partitions: number;
  readonly delivery: 'exactly_once' | 'at_least_once';
  /** Records a second that work `latency` sends. */
  readonly rate: number;
  /** How long `latency` and `idle` measure. */
  readonly seconds: number;
  /** Of work `instances`. */
  readonly processes: number;
  readonly shuffle: 'memory' | 'topic';
  /** Every row of the table, one after the other, in place of one work. */
  readonly all: boolean;
  /** Of the records of each row, with `all`. */
  readonly percent: number;
  /** File with figures of an earlier time. */
  readonly compare: string | undefined;
  /** File with kept runs that this one goes into, in the place of the same run there. */
  readonly keepIn: string | undefined;
  readonly json: boolean;
  /** Leaves topics and state where they are. */
  readonly keep: boolean;
};

export const usage = `npm run bench -- [options]
  --work WORK               throughput: w1-a 10 records a key, without record keys (default); w1-b with them; w2 Zipf,
                            w2-a the same without record keys; expressions ten of them and two expectations;
                            memory as many keys as records.
                            latency, restore, kill, idle, instances: see bench/README.md
  --records N               default 2000000; memory, restore 1000000; instances 500000
  --keys N                  keys to draw from; default: a tenth of the records, with w2 half of them, with memory all
  --seed N                  of the generator, default 1
  --output row_set|rows     of the table, default row_set; with memory rows
  --state redis|embedded    default redis; with memory embedded
  --commit-ms N             default 1000; latency 100
  --partitions N            of the source topic, default 4
  --delivery MODE           exactly_once (default) or at_least_once
  --rate N                  latency: records a second, default 1000
  --seconds N               latency, idle: how long to measure, default 20
  --processes N             instances: default 2
  --shuffle memory|topic    how rows reach their table partition, default memory
  --all                     every row of the table in bench/README.md, one after the other, each compared with
                            bench/figures.json
  --percent N               with --all: of the records of each row, default 100
  --compare FILE            tell each figure's ratio to that of the same run in FILE (bench/figures.json)
  --keep-in FILE            put the run into FILE, a list of runs, in the place of the same run there
  --keep                    leave topics and state behind
  --json                    one JSON document on standard output
`;

/** Throws an Error with what is wrong. */
export function benchOptions(args: readonly string[]): BenchOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      work: { type: 'string', default: 'w1-a' },
      records: { type: 'string' },
      keys: { type: 'string' },
      seed: { type: 'string', default: '1' },
      output: { type: 'string' },
      state: { type: 'string' },
      'commit-ms': { type: 'string' },
      partitions: { type: 'string', default: '4' },
      delivery: { type: 'string', default: 'exactly_once' },
      rate: { type: 'string', default: '1000' },
      seconds: { type: 'string', default: '20' },
      processes: { type: 'string', default: '2' },
      shuffle: { type: 'string', default: 'memory' },
      all: { type: 'boolean', default: false },
      percent: { type: 'string', default: '100' },
      compare: { type: 'string' },
      'keep-in': { type: 'string' },
      json: { type: 'boolean', default: false },
      keep: { type: 'boolean', default: false },
    },
  });
  const work = oneOf('work', values.work, works);
  const isMemory = work === 'memory';
  const records = whole('records', values.records ?? recordsOf(work));
  return {
    work,
    records,
    keys: values.keys === undefined ? (isMemory ? records : undefined) : whole('keys', values.keys),
    seed: whole('seed', values.seed),
    output: oneOf('output', values.output ?? (isMemory ? 'rows' : 'row_set'), ['row_set', 'rows']),
    state: oneOf('state', values.state ?? (isMemory ? 'embedded' : 'redis'), ['redis', 'embedded']),
    commitMs: whole('commit-ms', values['commit-ms'] ?? (work === 'latency' ? '100' : '1000')),
    partitions: whole('partitions', values.partitions),
    delivery: oneOf('delivery', values.delivery, ['exactly_once', 'at_least_once']),
    rate: whole('rate', values.rate),
    seconds: whole('seconds', values.seconds),
    processes: whole('processes', values.processes),
    shuffle: oneOf('shuffle', values.shuffle, ['memory', 'topic']),
    all: values.all,
    percent: whole('percent', values.percent),
    compare: values.compare ?? (values.all ? 'bench/figures.json' : undefined),
    keepIn: values['keep-in'],
    json: values.json,
    keep: values.keep,
  };
}

function recordsOf(work: Work): string {
  if (work === 'memory' || work === 'restore') return '1000000';
  return work === 'instances' ? '500000' : '2000000';
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
