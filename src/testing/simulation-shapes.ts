import { FlowError } from '../base/errors.ts';
import type { OutputMode, PipelinePlan } from '../plan/pipeline-plan.ts';
import { planPipeline } from '../plan/plan-pipeline.ts';
import type { Random } from './random.ts';

/** What a producer writes: a record of the columns below, or what no reader can decode. */
export type SourceRecord =
  | {
      readonly k: number | null;
      readonly g: number;
      readonly seq: number | null;
      readonly v: string;
      readonly items: readonly string[] | null;
    }
  | 'tombstone'
  | 'malformed';

export type DecodedRecord = Exclude<SourceRecord, string>;

/** A row as the definition says that a branch gives it, worked out by hand. */
export type BranchRow = {
  readonly index: number;
  readonly key: string;
  readonly sequence: number;
  /** undefined: a marker that the key has no rows. */
  readonly row: string | undefined;
};

export type BranchResult = {
  readonly rows: readonly BranchRow[];
  /** Rows that the generators gave, filters took and expectations dropped. */
  readonly generated: number;
  readonly filtered: number;
  readonly dropped: number;
};

export type ShapeBranch = {
  /** Where its records come from in the first place. */
  readonly topic: string;
  /** The table of the pipeline that they come through; undefined: the flow reads the topic itself. */
  readonly via?: string;
  /** Whether that table has a row of a record; absent: of each. */
  readonly isPassedOn?: (record: DecodedRecord) => boolean;
  /** undefined: the record is bad. */
  readonly rows: (record: DecodedRecord) => BranchResult | undefined;
};

export type ShapeFlow = {
  readonly name: string;
  /** Also the topic of the table. */
  readonly table: string;
  readonly branches: readonly ShapeBranch[];
};

/**
 * A pipeline that is simulated, as SQL and once more as plain functions. Invariant: the functions share nothing with
 * the product's own planning and evaluation, so that a fault there is no fault here.
 */
export type SimulationShape = {
  readonly name: string;
  readonly topics: readonly string[];
  readonly flows: readonly ShapeFlow[];
  readonly sql: (options: string) => string;
};

const columns = 'k INT, g INT, seq BIGINT, v STRING, items ARRAY<STRING>';

function source(topic: string): string {
  return `CREATE SOURCE ${topic} (${columns}) WITH (topic = '${topic}', format = 'json');\n`;
}

function table(
  name: string,
  key: string,
  options: string,
  query: string,
  head = '',
  tail = '',
): string {
  return `CREATE STREAMING TABLE ${name}${head} WITH (topic = '${name}', dead_letter_topic = '${name}.dlq'${options})
FLOW REPLACE USING (${key}) SEQUENCE BY seq${tail} BY NAME ${query};\n`;
}

type Check = (record: DecodedRecord) => 'kept' | 'filtered' | 'dropped';

function flat(key: 'k' | 'g', text: (record: DecodedRecord) => string, check?: Check) {
  return (record: DecodedRecord): BranchResult | undefined => {
    const fate = check?.(record) ?? 'kept';
    const filtered = fate === 'filtered' ? 1 : 0;
    const dropped = fate === 'dropped' ? 1 : 0;
    const none = { rows: [], generated: 1, filtered, dropped };
    if (fate !== 'kept') return none;
    if (record.seq === null) return undefined;
    const named = `{"${key}":${record[key]}}`;
    return { ...none, rows: [{ index: 0, key: named, sequence: record.seq, row: text(record) }] };
  };
}

const byK = ({ k, seq, v }: DecodedRecord) => `{"k":${k},"seq":${seq},"v":"${v}"}`;
const byG = ({ g, seq, v }: DecodedRecord) => `{"g":${g},"seq":${seq},"v":"${v}"}`;

const plain: SimulationShape = {
  name: 'plain',
  topics: ['src'],
  flows: [{ name: 't', table: 't', branches: [{ topic: 'src', rows: flat('k', byK) }] }],
  sql: (options) => source('src') + table('t', 'k', options, 'SELECT k, seq, v FROM STREAM(src)'),
};

const filtered: SimulationShape = {
  name: 'filtered',
  topics: ['src'],
  flows: [
    {
      name: 't',
      table: 't',
      branches: [
        {
          topic: 'src',
          rows: flat('k', byK, ({ g, seq }) =>
            g > 2 ? 'filtered' : seq !== null && seq < 6 ? 'kept' : 'dropped',
          ),
        },
      ],
    },
  ],
  sql: (options) =>
    source('src') +
    table(
      't',
      'k',
      options,
      'SELECT k, seq, v FROM STREAM(src) WHERE g <= 2',
      ' (CONSTRAINT low EXPECT (seq < 6) ON VIOLATION DROP ROW)',
    ),
};

const exploded: SimulationShape = {
  name: 'exploded',
  topics: ['src'],
  flows: [
    {
      name: 't',
      table: 't',
      branches: [
        {
          topic: 'src',
          rows: ({ k, seq, items }) => {
            const elements = items ?? [];
            if (seq === null && elements.length > 0) return undefined;
            const rows = elements.map((item, index) => ({
              index,
              key: `{"k":${k}}`,
              sequence: seq ?? 0,
              row: `{"k":${k},"seq":${seq},"item":"${item}"}`,
            }));
            return { rows, generated: elements.length, filtered: 0, dropped: 0 };
          },
        },
      ],
    },
  ],
  sql: (options) =>
    source('src') +
    table('t', 'k', options, 'SELECT k, seq, explode(items) AS item FROM STREAM(src)'),
};

const union: SimulationShape = {
  name: 'union',
  topics: ['src', 'other'],
  flows: [
    {
      name: 't',
      table: 't',
      branches: [
        { topic: 'src', rows: flat('k', byK) },
        { topic: 'other', rows: flat('k', byK) },
        {
          topic: 'src',
          rows: flat('k', byK, ({ g }) => (g === 0 ? 'kept' : 'filtered')),
        },
      ],
    },
  ],
  sql: (options) =>
    source('src') +
    source('other') +
    table(
      't',
      'k',
      options,
      `SELECT k, seq, v FROM STREAM(src)
UNION ALL SELECT k, seq, v FROM STREAM(other)
UNION ALL SELECT k, seq, v FROM STREAM(src) WHERE g = 0`,
    ),
};

const distinct: SimulationShape = {
  name: 'distinct',
  topics: ['src'],
  flows: [
    {
      name: 't',
      table: 't',
      branches: [
        { topic: 'src', rows: flat('k', ({ k, g, seq }) => `{"k":${k},"g":${g},"seq":${seq}}`) },
      ],
    },
  ],
  sql: (options) =>
    source('src') + table('t', 'k', options, 'SELECT DISTINCT k, g, seq FROM STREAM(src)'),
};

/** Markers empty a key, and their levels outlive its rows. */
const emptied: SimulationShape = {
  name: 'emptied',
  topics: ['src'],
  flows: [
    {
      name: 't',
      table: 't',
      branches: [
        {
          topic: 'src',
          rows: (record) => {
            const { k, g, seq, v } = record;
            const row = `{"k":${k},"g":${g},"seq":${seq},"v":"${v}"}`;
            const result = flat('k', () => row)(record);
            const rows = result?.rows.map((one) => (g === 2 ? { ...one, row: undefined } : one));
            return result === undefined || rows === undefined ? undefined : { ...result, rows };
          },
        },
      ],
    },
  ],
  sql: (options) =>
    source('src') +
    table(
      't',
      'k',
      options,
      'SELECT k, g, seq, v FROM STREAM(src)',
      '',
      ' APPLY AS EMPTY WHEN (g = 2)',
    ),
};

/** Two tables of one source: what one flow's trouble does to the other shows here. */
const shared: SimulationShape = {
  name: 'shared',
  topics: ['src'],
  flows: [
    { name: 't', table: 't', branches: [{ topic: 'src', rows: flat('k', byK) }] },
    { name: 'u', table: 'u', branches: [{ topic: 'src', rows: flat('g', byG) }] },
  ],
  sql: (options) =>
    source('src') +
    table('t', 'k', options, 'SELECT k, seq, v FROM STREAM(src)') +
    table('u', 'g', options, 'SELECT g, seq, v FROM STREAM(src)'),
};

const separate: SimulationShape = {
  name: 'separate',
  topics: ['src', 'other'],
  flows: [
    { name: 't', table: 't', branches: [{ topic: 'src', rows: flat('k', byK) }] },
    { name: 'u', table: 'u', branches: [{ topic: 'other', rows: flat('g', byG) }] },
  ],
  sql: (options) =>
    source('src') +
    source('other') +
    table('t', 'k', options, 'SELECT k, seq, v FROM STREAM(src)') +
    table('u', 'g', options, 'SELECT g, seq, v FROM STREAM(other)'),
};

const byAll = ({ k, g, seq, v }: DecodedRecord) => `{"k":${k},"g":${g},"seq":${seq},"v":"${v}"}`;

/** A row of a table that rows are appended to: it has no key, and its sequence is a column like others. */
function appendedRow(isKept: (record: DecodedRecord) => boolean) {
  return (record: DecodedRecord): BranchResult => {
    const rows = isKept(record) ? [{ index: 0, key: '', sequence: 0, row: byAll(record) }] : [];
    return { rows, generated: 1, filtered: 1 - rows.length, dropped: 0 };
  };
}

const hasSequence = ({ seq }: DecodedRecord): boolean => seq !== null;

function append(flow: string, from: string): string {
  return `CREATE FLOW ${flow} AS INSERT INTO a BY NAME SELECT k, g, seq, v FROM STREAM(${from}) WHERE seq IS NOT NULL;\n`;
}

const appendTable = "CREATE STREAMING TABLE a WITH (topic = 'a', dead_letter_topic = 'a.dlq');\n";

/** Rows that stay, each once. */
const appended: SimulationShape = {
  name: 'appended',
  topics: ['src'],
  flows: [{ name: 'fa', table: 'a', branches: [{ topic: 'src', rows: appendedRow(hasSequence) }] }],
  sql: () => source('src') + appendTable + append('fa', 'src'),
};

/** Two flows into one table, and a table over it: what is appended twice or lost shows in both. */
const chained: SimulationShape = {
  name: 'chained',
  topics: ['src', 'other'],
  flows: [
    { name: 'fa', table: 'a', branches: [{ topic: 'src', rows: appendedRow(hasSequence) }] },
    { name: 'fo', table: 'a', branches: [{ topic: 'other', rows: appendedRow(hasSequence) }] },
    {
      name: 't',
      table: 't',
      branches: ['src', 'other'].map((topic) => ({
        topic,
        via: 'a',
        isPassedOn: hasSequence,
        rows: flat('k', byK, ({ g }) => (g === 3 ? 'filtered' : 'kept')),
      })),
    },
  ],
  sql: (options) =>
    source('src') +
    source('other') +
    appendTable +
    append('fa', 'src') +
    append('fo', 'other') +
    table('t', 'k', options, 'SELECT k, seq, v FROM STREAM(a) WHERE g <> 3'),
};

export const simulationShapes: readonly SimulationShape[] = [
  plain,
  filtered,
  exploded,
  union,
  distinct,
  emptied,
  shared,
  separate,
  appended,
  chained,
];

/** One table of one source more often than all others together: it is the cheapest, and most faults need no more. */
export function drawShape(random: Random): SimulationShape {
  return random.chance(400) ? plain : (random.pick(simulationShapes) ?? plain);
}

const plans = new Map<string, PipelinePlan>();

/** The plan of a shape. The same one is planned once. */
export function planShape(shape: SimulationShape, output: OutputMode): PipelinePlan {
  const name = `${shape.name}/${output}`;
  const known = plans.get(name);
  if (known !== undefined) return known;
  const text = shape.sql(`, output = '${output}'`);
  const { plan, faults } = planPipeline([{ file: `${shape.name}.sql`, text }]);
  const fault = faults.find(({ severity }) => severity !== 'warning');
  if (plan === undefined || fault !== undefined) {
    throw new FlowError('PIPELINE_INVALID', `shape "${shape.name}" cannot be planned`, {
      detail: fault?.message ?? 'It has no plan.',
    });
  }
  plans.set(name, plan);
  return plan;
}

/** The bytes that a producer sends. */
export function recordText(record: SourceRecord): string | null {
  if (record === 'tombstone') return null;
  if (record === 'malformed') return '{"k":1,"seq":';
  const { k, g, seq, v, items } = record;
  const list = items === null ? 'null' : `[${items.map((item) => `"${item}"`).join()}]`;
  return `{"k":${k},"g":${g},"seq":${seq},"v":"${v}","items":${list}}`;
}
