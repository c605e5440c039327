import { FlowError } from '../../base/errors.ts';
import type { OutputMode, PipelinePlan } from '../../plan/pipeline-plan.ts';
import { planPipeline } from '../../plan/plan-pipeline.ts';
import { Random } from '../random.ts';
import {
  append,
  appendedRow,
  appendTable,
  byAll,
  byG,
  byK,
  emptiedByGSql,
  flat,
  hasSequence,
  newestByK,
  newestByKSql,
  type SimulationShape,
  source,
  table,
} from './shape-parts.ts';
import { batchShapes, relatedShapes } from './simulation-batch-shapes.ts';
import { changeShapes } from './simulation-change-shapes.ts';
import { flowShapes } from './simulation-flow-shapes.ts';
import { joinedShapes, sunkShapes } from './simulation-joined-shapes.ts';
import { momentShapes } from './simulation-moment-shapes.ts';
import { siftedShapes } from './simulation-sifted-shapes.ts';

const plain: SimulationShape = {
  name: 'plain',
  topics: ['src'],
  flows: [newestByK],
  sql: (options) => source('src') + newestByKSql(options),
};

const isLow = (seq: number | null): boolean => seq !== null && seq < 6;

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
          rows: flat(
            'k',
            byK,
            ({ g, seq }) => (g > 2 ? 'filtered' : isLow(seq) ? 'kept' : 'dropped'),
            { low: ({ seq }) => isLow(seq) },
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
            const { g } = record;
            const result = flat('k', byAll)(record);
            const rows = result?.rows.map((one) => (g === 2 ? { ...one, row: undefined } : one));
            return result === undefined || rows === undefined ? undefined : { ...result, rows };
          },
        },
      ],
    },
  ],
  sql: (options) => source('src') + emptiedByGSql(options),
};

/** Two tables of one source: what one flow's trouble does to the other shows here. */
const shared: SimulationShape = {
  name: 'shared',
  topics: ['src'],
  flows: [newestByK, { name: 'u', table: 'u', branches: [{ topic: 'src', rows: flat('g', byG) }] }],
  sql: (options) =>
    source('src') +
    newestByKSql(options) +
    table('u', 'g', options, 'SELECT g, seq, v FROM STREAM(src)'),
};

const separate: SimulationShape = {
  name: 'separate',
  topics: ['src', 'other'],
  flows: [
    newestByK,
    { name: 'u', table: 'u', branches: [{ topic: 'other', rows: flat('g', byG) }] },
  ],
  sql: (options) =>
    source('src') +
    source('other') +
    newestByKSql(options) +
    table('u', 'g', options, 'SELECT g, seq, v FROM STREAM(other)'),
};

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

const drawnShapes: readonly SimulationShape[] = [
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
  ...flowShapes,
  ...changeShapes,
  ...batchShapes,
  ...joinedShapes,
  ...siftedShapes,
];

/** These take the place of others in some worlds. */
const lateShapes: readonly SimulationShape[] = [...momentShapes, ...relatedShapes, ...sunkShapes];

export const simulationShapes: readonly SimulationShape[] = [...drawnShapes, ...lateShapes];

/** One table of one source more often than all others together: it is the cheapest, and most faults need no more. */
export function drawShape(random: Random): SimulationShape {
  return random.chance(400) ? plain : (random.pick(drawnShapes) ?? plain);
}

/** Of a thousand worlds, how many have a late shape. */
const latePermille = 150;
/** And in how many tables are computed anew: each of those takes as long as dozens of others. */
const refreshedPermille = 10;

/**
 * What takes the place of the shape that a seed draws; undefined: nothing does. Decided by numbers of its own, so that all
 * other worlds stay as they were.
 */
export function lateShapeOf(seed: number): SimulationShape | undefined {
  const random = new Random(seed ^ 0x5eed);
  return random.chance(latePermille) ? random.pick(lateShapes) : undefined;
}

/** Whether the tables of a seed's world are computed anew while it goes on, decided in the same way. */
export function refreshesIn(seed: number): boolean {
  return new Random(seed ^ 0x4ef5).chance(refreshedPermille);
}

const plans = new Map<string, PipelinePlan>();

/**
 * The plan of a shape; `partitions` are those of tables that do not say how many they have. The same one is planned once, so that
 * what is derived from a plan is, too.
 */
export function planShape(
  shape: SimulationShape,
  output: OutputMode,
  partitions?: number,
): PipelinePlan {
  const name = `${shape.name}/${output}/${partitions}`;
  const known = plans.get(name);
  if (known !== undefined) return known;
  const plan =
    partitions === undefined
      ? planned(shape, output)
      : widened(planShape(shape, output), partitions);
  plans.set(name, plan);
  return plan;
}

/** A table whose rows are counted says how many it has, and stays as it is. */
function widened(plan: PipelinePlan, partitions: number): PipelinePlan {
  const tables = plan.tables.map((table) => ({
    ...table,
    partitions: table.partitions ?? partitions,
  }));
  return { ...plan, tables };
}

function planned(shape: SimulationShape, output: OutputMode): PipelinePlan {
  const text = shape.sql(`, output = '${output}'`);
  const { plan, faults } = planPipeline([{ file: `${shape.name}.sql`, text }]);
  const fault = faults.find(({ severity }) => severity !== 'warning');
  if (plan === undefined || fault !== undefined) {
    throw new FlowError('PIPELINE_INVALID', `shape "${shape.name}" cannot be planned`, {
      detail: fault?.message ?? 'It has no plan.',
    });
  }
  return plan;
}
