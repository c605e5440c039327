import {
  type DecodedRecord,
  type PlacedRecord,
  reads,
  type SimulationShape,
  source,
  type WholeTable,
} from './shape-parts.ts';

const limit = 7;
const bothTopics = ['src', 'other'];

const pairText = ({ k, g }: DecodedRecord): string => `{"k":${k},"g":${g}}`;
const valueText = ({ k, v }: DecodedRecord): string => `{"k":${k},"v":"${v}"}`;

function equalOnce(records: readonly PlacedRecord[]): WholeTable {
  const rows = new Set(
    records.filter(({ record }) => record.g < 3).map((one) => pairText(one.record)),
  );
  return { must: [...rows], may: [] };
}

function firstFew(rows: readonly string[]): WholeTable {
  return { must: [], may: rows, count: Math.min(rows.length, limit) };
}

const throughTable = bothTopics.map((topic) => reads(topic, 'a.distinct'));

/** Of equal rows one is there, whichever partition, process or source they come from. */
const distinctRows: SimulationShape = {
  name: 'distinct_rows',
  topics: bothTopics,
  flows: [
    {
      name: 'a.distinct',
      table: 'a.distinct',
      branches: bothTopics.map((topic) => reads(topic)),
      whole: equalOnce,
    },
    { name: 'a', table: 'a', branches: throughTable, whole: equalOnce },
  ],
  sql: () =>
    `${bothTopics.map(source).join('')}CREATE STREAMING TABLE a WITH (topic = 'a', dead_letter_topic = 'a.dlq') AS
SELECT DISTINCT k, g FROM (SELECT * FROM STREAM(src) UNION ALL SELECT * FROM STREAM(other)) WHERE g < 3;\n`,
};

/** So many rows are there, of all or of those that differ, and not one more. */
const fewRows: SimulationShape = {
  name: 'few_rows',
  topics: ['src'],
  flows: [
    {
      name: 'a.limit',
      table: 'a.limit',
      branches: [reads('src')],
      whole: (records) => firstFew(records.map(({ record }) => valueText(record))),
    },
    {
      name: 'a',
      table: 'a',
      branches: [reads('src', 'a.limit')],
      whole: (records) => firstFew(records.map(({ record }) => valueText(record))),
    },
    {
      name: 'b.distinct',
      table: 'b.distinct',
      branches: [reads('src')],
      whole: (records) => firstFew(equalOnce(records).must),
    },
    {
      name: 'b',
      table: 'b',
      branches: [reads('src', 'b.distinct')],
      whole: (records) => firstFew(equalOnce(records).must),
    },
  ],
  sql: () => `${source('src')}CREATE STREAMING TABLE a WITH (topic = 'a', dead_letter_topic = 'a.dlq') AS
SELECT k, v FROM STREAM(src) LIMIT ${limit};
CREATE STREAMING TABLE b WITH (topic = 'b', dead_letter_topic = 'b.dlq') AS
SELECT DISTINCT k, g FROM STREAM(src) WHERE g < 3 LIMIT ${limit};\n`,
};

/** Append flows whose rows have to meet before they are let through. */
export const siftedShapes: readonly SimulationShape[] = [distinctRows, fewRows];
