import {
  type BranchResult,
  byK,
  type DecodedRecord,
  type ShapeFlow,
  type SimulationShape,
  source,
} from './shape-parts.ts';

/** What a change makes of a row: the columns of its table, a delete, or the end of everything before it. */
export function changed(text: (record: DecodedRecord) => string, truncates: boolean) {
  return (record: DecodedRecord): BranchResult | undefined => {
    const { k, g, seq } = record;
    if (k === null || seq === null) return undefined;
    const isTruncate = truncates && g === 2 && k === 0;
    const row = g === 3 || isTruncate ? undefined : text(record);
    const change = { index: 0, key: `{"k":${k}}`, sequence: seq, row };
    return {
      rows: [isTruncate ? { ...change, isTruncate } : change],
      generated: 1,
      filtered: 0,
      dropped: 0,
    };
  };
}

function feed(flow: string, from: string, clauses: string): string {
  const kind = flow === 'h' ? 'AUTO CDC ONCE' : 'AUTO CDC';
  return `CREATE FLOW ${flow} AS ${kind} INTO t FROM STREAM(${from}) KEYS (k) APPLY AS DELETE WHEN g = 3 ${clauses};\n`;
}

const changeTable = "CREATE STREAMING TABLE t WITH (topic = 't', dead_letter_topic = 't.dlq');\n";

/** Deletes outlive their rows, and truncates reach every key. */
const upserted: SimulationShape = {
  name: 'upserted',
  topics: ['src'],
  flows: [
    {
      name: 't',
      table: 't',
      changes: 'current',
      branches: [{ topic: 'src', rows: changed(byK, true) }],
    },
  ],
  sql: () =>
    source('src') +
    changeTable +
    feed(
      't',
      'src',
      'APPLY AS TRUNCATE WHEN (g = 2 AND k = 0) SEQUENCE BY seq COLUMNS (k, seq, v) STORED AS SCD TYPE 1',
    ),
};

const byKG = ({ k, g }: DecodedRecord): string => `{"k":${k},"g":${g}}`;

/** Every change stands in the history of its key, wherever in it it comes. */
const historical: SimulationShape = {
  name: 'historical',
  topics: ['src'],
  flows: [
    {
      name: 't',
      table: 't',
      changes: 'history',
      branches: [{ topic: 'src', rows: changed(byKG, false) }],
    },
  ],
  sql: () =>
    source('src') +
    changeTable +
    feed('t', 'src', 'SEQUENCE BY seq COLUMNS (k, g) STORED AS SCD TYPE 2'),
};

/** An archive that is read once, and a feed that goes on, into one stage. */
const fed: SimulationShape = {
  name: 'fed',
  topics: ['src', 'other'],
  flows: [
    {
      name: 't',
      table: 't',
      changes: 'current',
      branches: [{ topic: 'src', rows: changed(byK, false) }],
    },
    {
      name: 'h',
      table: 't',
      changes: 'current',
      isOnce: true,
      branches: [{ topic: 'other', rows: changed(byK, false) }],
    },
  ],
  sql: () => {
    const clauses = 'SEQUENCE BY seq COLUMNS (k, seq, v) STORED AS SCD TYPE 1';
    return (
      source('src') +
      source('other') +
      changeTable +
      feed('t', 'src', clauses) +
      feed('h', 'other', clauses)
    );
  },
};

/** As a database's log tells a change, in Debezium's envelope: a delete has the row as it was, a truncate has none. */
function envelope({ k, g, seq, v }: DecodedRecord): string {
  const row = `{"k":${k},"g":${g},"v":"${v}"}`;
  const isTruncate = g === 2 && k === 0;
  const op = isTruncate ? 't' : g === 3 ? 'd' : 'u';
  const before = op === 'd' ? row : 'null';
  const after = op === 'u' ? row : 'null';
  return `{"before":${before},"after":${after},"op":"${op}","source":{"lsn":${seq}}}`;
}

function capturedSource(topic: string): string {
  const columns = 'k INT, g INT, v STRING, __op STRING, __source_lsn BIGINT';
  return `CREATE SOURCE ${topic} (${columns}) WITH (topic = '${topic}', format = 'debezium-json');\n`;
}

function capture(flow: string, from: string, clauses: string): string {
  return `CREATE FLOW ${flow} AS AUTO CDC INTO t FROM ${from} KEYS (k) APPLY AS DELETE WHEN __op = 'd' ${clauses};\n`;
}

const byKV = ({ k, g, v }: DecodedRecord): string => `{"k":${k},"g":${g},"v":"${v}"}`;

/** Envelopes with deletes and truncates. What a truncate says of a key is nothing. */
const captured: SimulationShape = {
  name: 'captured',
  topics: ['src'],
  text: envelope,
  flows: [
    {
      name: 't',
      table: 't',
      changes: 'current',
      branches: [{ topic: 'src', rows: changed(byKV, true) }],
    },
  ],
  sql: () =>
    capturedSource('src') +
    changeTable +
    capture(
      't',
      'STREAM(src)',
      "APPLY AS TRUNCATE WHEN __op = 't' SEQUENCE BY __source_lsn COLUMNS (k, g, v) STORED AS SCD TYPE 1",
    ),
};

/** A history that several feeds make, each with a checkpoint of its own; their truncates are left out before. */
const gathered: SimulationShape = {
  name: 'gathered',
  topics: ['src', 'other'],
  text: envelope,
  flows: ['src', 'other'].map(
    (topic): ShapeFlow => ({
      name: feedOf(topic),
      table: 't',
      changes: 'history',
      branches: [{ topic, rows: withoutTruncates(changed(byKG, false)) }],
    }),
  ),
  sql: () =>
    ['src', 'other'].map(capturedSource).join('') +
    changeTable +
    ['src', 'other']
      .map((topic) =>
        capture(
          feedOf(topic),
          `(SELECT * FROM STREAM(${topic}) WHERE __op <> 't')`,
          'SEQUENCE BY __source_lsn COLUMNS (k, g) STORED AS SCD TYPE 2',
        ),
      )
      .join(''),
};

/** The first one has the name of the table, and so of the stage in which both meet. */
function feedOf(topic: string): string {
  return topic === 'src' ? 't' : 'u';
}

function withoutTruncates(rows: (record: DecodedRecord) => BranchResult | undefined) {
  return (record: DecodedRecord): BranchResult | undefined =>
    record.g === 2 && record.k === 0
      ? { rows: [], generated: 1, filtered: 1, dropped: 0 }
      : rows(record);
}

/** Every form of a change feed. */
export const changeShapes: readonly SimulationShape[] = [
  upserted,
  historical,
  fed,
  captured,
  gathered,
];
