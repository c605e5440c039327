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
  /** undefined: a marker that the key has no rows, or a delete. */
  readonly row: string | undefined;
  /** No row of one key: all rows of the table up to its sequence are gone. */
  readonly isTruncate?: true;
};

export type BranchResult = {
  readonly rows: readonly BranchRow[];
  /** Rows that the generators gave, filters took and expectations dropped. */
  readonly generated: number;
  readonly filtered: number;
  readonly dropped: number;
  /** Of the rows that expectations judged, how many met each of them and how many did not. */
  readonly judged?: Readonly<Record<string, { readonly passed: number; readonly failed: number }>>;
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

/** A record that can be decoded, where it lies. Those of a partition come in their order. */
export type PlacedRecord = {
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
  readonly record: DecodedRecord;
};

/** What a table has, for whoever works out whether it could have come to be. */
export type WholeRows = {
  readonly rows: readonly string[];
  /** Otherwise a row may be there more often. */
  readonly isExact: boolean;
  /** Whether a record was there when the first process started. */
  readonly isOld: (record: PlacedRecord) => boolean;
};

/** Rows of a table, as often as they are there: those that must be, and further ones that may be by now. */
export type WholeTable = {
  readonly must: readonly string[];
  readonly may: readonly string[];
  /** How many there are of both; absent: as many as there are. */
  readonly count?: number;
};

export type ShapeFlow = {
  readonly name: string;
  /** Also the topic of the table. */
  readonly table: string;
  readonly branches: readonly ShapeBranch[];
  /** It reads what is there when it starts first, and no more. */
  readonly isOnce?: true;
  /** What the table has, where that is not told by the rows of single records: its branches say no more than what is read. */
  readonly whole?: (records: readonly PlacedRecord[], seen: WholeRows) => WholeTable;
  /** Of such a flow: whether a record that can be decoded is bad all the same. */
  readonly isBad?: (record: DecodedRecord) => boolean;
  /** How the rows of a key follow from its changes; absent: they replace each other, or are appended. */
  readonly changes?: 'current' | 'history';
};

/** A query over the rows of one table. */
export type ShapeView = {
  /** Also its topic. */
  readonly name: string;
  readonly input: string;
} & (
  | {
      readonly isOnce?: never;
      /** A further table that it reads. */
      readonly beside?: string;
      /** Record key → row, of the rows that the table has, and of those that the further one has. */
      readonly rows: (
        rows: readonly string[],
        besides: readonly string[],
      ) => ReadonlyMap<string, string>;
    }
  /** It is computed one time, from the table as the records made it by then. */
  | {
      readonly isOnce: true;
      readonly beside?: never;
      readonly whole: NonNullable<ShapeFlow['whole']>;
    }
);

export function inputsOf({ input, beside }: ShapeView): readonly string[] {
  return beside === undefined ? [input] : [input, beside];
}

/**
 * A pipeline that is simulated, as SQL and once more as plain functions. Invariant: the functions share nothing with
 * the product's own planning and evaluation, so that a fault there is no fault here.
 */
export type SimulationShape = {
  readonly name: string;
  readonly topics: readonly string[];
  readonly flows: readonly ShapeFlow[];
  readonly views?: readonly ShapeView[];
  /** Topics of others that the pipeline writes: they have records of their own. */
  readonly sinks?: readonly string[];
  /** Its records tell a time, which goes on as they are made. */
  readonly isTimed?: true;
  /** Each of its records can be read, and is complete: a query over a whole source does without none. */
  readonly isClean?: true;
  /** What its producers send of a record; absent: a JSON object of its columns. */
  readonly text?: (record: DecodedRecord) => string;
  readonly sql: (options: string) => string;
};

const columns = 'k INT, g INT, seq BIGINT, v STRING, items ARRAY<STRING>, ts TIMESTAMP';

export function source(topic: string): string {
  return `CREATE SOURCE ${topic} (${columns}) WITH (topic = '${topic}', format = 'json');\n`;
}

export function table(
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

type Fate = 'kept' | 'filtered' | 'dropped';

type Check = (record: DecodedRecord) => Fate;

/** Each expectation with whether a record meets it. */
export type Expected = Readonly<Record<string, (record: DecodedRecord) => boolean>>;

const noneJudged = {};

function judge(record: DecodedRecord, expected: Expected): NonNullable<BranchResult['judged']> {
  return Object.fromEntries(
    Object.entries(expected).map(([name, isMet]) => {
      const passed = isMet(record) ? 1 : 0;
      return [name, { passed, failed: 1 - passed }];
    }),
  );
}

export function flat(
  key: 'k' | 'g',
  text: (record: DecodedRecord) => string,
  check?: Check,
  expected: Expected = {},
) {
  const isJudging = Object.keys(expected).length > 0;
  return (record: DecodedRecord): BranchResult | undefined => {
    const fate = check?.(record) ?? 'kept';
    const filtered = fate === 'filtered' ? 1 : 0;
    const dropped = fate === 'dropped' ? 1 : 0;
    const judged = isJudging && fate !== 'filtered' ? judge(record, expected) : noneJudged;
    const none = { rows: [], generated: 1, filtered, dropped, judged };
    if (fate !== 'kept') return none;
    if (record.seq === null) return undefined;
    const named = `{"${key}":${record[key]}}`;
    return { ...none, rows: [{ index: 0, key: named, sequence: record.seq, row: text(record) }] };
  };
}

export const byK = ({ k, seq, v }: DecodedRecord) => `{"k":${k},"seq":${seq},"v":"${v}"}`;
export const byG = ({ g, seq, v }: DecodedRecord) => `{"g":${g},"seq":${seq},"v":"${v}"}`;

export const byAll = ({ k, g, seq, v }: DecodedRecord) =>
  `{"k":${k},"g":${g},"seq":${seq},"v":"${v}"}`;

/** The table of the newest rows of each `k`, in the topic of the same name. */
export const newestByK: ShapeFlow = {
  name: 't',
  table: 't',
  branches: [{ topic: 'src', rows: flat('k', byK) }],
};

export function newestByKSql(options: string): string {
  return table('t', 'k', options, 'SELECT k, seq, v FROM STREAM(src)');
}

/** The same with `g`, where rows of `g` 2 say that their key is empty. */
export function emptiedByGSql(options: string): string {
  const query = 'SELECT k, g, seq, v FROM STREAM(src)';
  return table('t', 'k', options, query, '', ' APPLY AS EMPTY WHEN (g = 2)');
}

/** A row of a table that rows are appended to: it has no key, and its sequence is a column like others. */
export function appendedRow(isKept: (record: DecodedRecord) => boolean) {
  return (record: DecodedRecord): BranchResult => {
    const rows = isKept(record) ? [{ index: 0, key: '', sequence: 0, row: byAll(record) }] : [];
    return { rows, generated: 1, filtered: 1 - rows.length, dropped: 0 };
  };
}

export const hasSequence = ({ seq }: DecodedRecord): boolean => seq !== null;

export function append(flow: string, from: string): string {
  return `CREATE FLOW ${flow} AS INSERT INTO a BY NAME SELECT k, g, seq, v FROM STREAM(${from}) WHERE seq IS NOT NULL;\n`;
}

export const appendTable =
  "CREATE STREAMING TABLE a WITH (topic = 'a', dead_letter_topic = 'a.dlq');\n";

/** What is read where the rows follow from all records together, also by way of a table that nobody declared. */
export function reads(topic: string, via?: string): ShapeBranch {
  const rows = () => undefined;
  return via === undefined ? { topic, rows } : { topic, via, rows };
}

/** In seconds: records that are made later have later times, though not in order. */
export function timeOf({ seq, v }: DecodedRecord): number | null {
  return seq === null ? null : Math.floor(Number(v.slice(1)) / 3) + seq;
}

/** The bytes that a producer sends. */
export function recordText(record: SourceRecord, isTimed: boolean): string | null {
  if (record === 'tombstone') return null;
  if (record === 'malformed') return '{"k":1,"seq":';
  const { k, g, seq, v, items } = record;
  const list = items === null ? 'null' : `[${items.map((item) => `"${item}"`).join()}]`;
  const seconds = isTimed ? timeOf(record) : null;
  const time =
    seconds === null
      ? ''
      : `,"ts":"${new Date(Date.UTC(2025, 0, 1, 0, 0, seconds)).toISOString()}"`;
  return `{"k":${k},"g":${g},"seq":${seq},"v":"${v}","items":${list}${time}}`;
}
