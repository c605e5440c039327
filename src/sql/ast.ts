import type { Place } from '../base/place.ts';

/**
 * The syntax tree of pipeline SQL. Invariant: every node knows its place, and nothing is resolved yet:
 * names are as they were written (without their quotes), types are data types only where a type was written.
 */

/** `quoted`: written in quotes, or a clause word, which needs them. */
export type Identifier = { readonly text: string; readonly quoted: boolean; readonly place: Place };

/** 1–3 parts: `[catalog.][schema.]name`. */
export type Name = { readonly parts: readonly Identifier[]; readonly place: Place };

// ---------------------------------------------------------------- expressions

export type Expression =
  | LiteralExpression
  | { readonly node: 'column'; readonly name: Name; readonly place: Place }
  /** `*`, `t.*`, `* EXCEPT (a, b.c)`; only in select lists and in count(*), struct(*). */
  | {
      readonly node: 'star';
      readonly qualifier: Name | undefined;
      readonly except: readonly Name[];
      /** Columns that `|> SET` gives another value. */
      readonly replace?: readonly { readonly name: Identifier; readonly value: Expression }[];
      readonly place: Place;
    }
  | {
      readonly node: 'unary';
      readonly operator: '-' | '+' | '~' | 'not';
      readonly operand: Expression;
      readonly place: Place;
    }
  | {
      readonly node: 'binary';
      readonly operator: BinaryOperator;
      readonly left: Expression;
      readonly right: Expression;
      readonly place: Place;
    }
  | {
      readonly node: 'between';
      readonly value: Expression;
      readonly low: Expression;
      readonly high: Expression;
      readonly negated: boolean;
      readonly place: Place;
    }
  | {
      readonly node: 'in';
      readonly value: Expression;
      readonly list: readonly Expression[];
      readonly negated: boolean;
      readonly place: Place;
    }
  | {
      readonly node: 'in_query';
      readonly value: Expression;
      readonly query: Query;
      readonly negated: boolean;
      readonly place: Place;
    }
  | { readonly node: 'exists'; readonly query: Query; readonly place: Place }
  | { readonly node: 'scalar_query'; readonly query: Query; readonly place: Place }
  /** LIKE, ILIKE, RLIKE; `quantifier` for `LIKE ANY (…)`, `LIKE ALL (…)`. */
  | {
      readonly node: 'like';
      readonly operator: 'like' | 'ilike' | 'rlike';
      readonly value: Expression;
      readonly patterns: readonly Expression[];
      readonly quantifier: 'any' | 'all' | undefined;
      readonly escape: Expression | undefined;
      readonly negated: boolean;
      readonly place: Place;
    }
  /** `IS [NOT] NULL | TRUE | FALSE | UNKNOWN`. */
  | {
      readonly node: 'is';
      readonly value: Expression;
      readonly test: 'null' | 'true' | 'false' | 'unknown';
      readonly negated: boolean;
      readonly place: Place;
    }
  | {
      readonly node: 'is_distinct';
      readonly left: Expression;
      readonly right: Expression;
      readonly negated: boolean;
      readonly place: Place;
    }
  | {
      readonly node: 'case';
      readonly operand: Expression | undefined;
      readonly branches: readonly { readonly when: Expression; readonly then: Expression }[];
      readonly otherwise: Expression | undefined;
      readonly place: Place;
    }
  /** CAST, TRY_CAST and `e::type`. */
  | {
      readonly node: 'cast';
      readonly value: Expression;
      readonly type: TypeNode;
      readonly isTry: boolean;
      readonly place: Place;
    }
  | CallExpression
  /** `x -> e`, `(x, y) -> e`. */
  | {
      readonly node: 'lambda';
      readonly parameters: readonly Identifier[];
      readonly body: Expression;
      readonly place: Place;
    }
  /** `e.field`, after something that is not a plain name. */
  | {
      readonly node: 'field';
      readonly value: Expression;
      readonly field: Identifier;
      readonly place: Place;
    }
  /** `e[index]`. */
  | {
      readonly node: 'subscript';
      readonly value: Expression;
      readonly index: Expression;
      readonly place: Place;
    }
  /** `v:path.to[0]`: the raw text after the colon, parsed as a variant or JSON path. */
  | {
      readonly node: 'path';
      readonly value: Expression;
      readonly path: string;
      readonly place: Place;
    }
  | { readonly node: 'interval'; readonly units: readonly IntervalUnit[]; readonly place: Place }
  | {
      readonly node: 'interval_range';
      readonly negative: boolean;
      readonly text: string;
      readonly from: string;
      readonly to: string;
      readonly place: Place;
    }
  /** `EXTRACT(field FROM e)`. */
  | {
      readonly node: 'extract';
      readonly field: Identifier;
      readonly value: Expression;
      readonly place: Place;
    }
  /** `TRIM([BOTH|LEADING|TRAILING] [chars] FROM e)`. */
  | {
      readonly node: 'trim';
      readonly side: 'both' | 'leading' | 'trailing';
      readonly characters: Expression | undefined;
      readonly value: Expression;
      readonly place: Place;
    }
  /** `e COLLATE name`. */
  | {
      readonly node: 'collate';
      readonly value: Expression;
      readonly collation: Name;
      readonly place: Place;
    }
  /** A row constructor `(a, b)`; with no items or one only inside GROUPING SETS, ROLLUP and CUBE. */
  | { readonly node: 'tuple'; readonly items: readonly Expression[]; readonly place: Place }
  /** `e AS name` where an expression stands: `struct(a AS x)`, `(1 AS a, 2 AS b)`, `WATERMARK e AS ts`. */
  | {
      readonly node: 'alias';
      readonly value: Expression;
      readonly name: Identifier;
      readonly place: Place;
    };

export type BinaryOperator =
  | '+'
  | '-'
  | '*'
  | '/'
  | '%'
  | 'div'
  | '||'
  | '&'
  | '|'
  | '^'
  | '<<'
  | '>>'
  | '>>>'
  | '='
  | '<=>'
  | '<>'
  | '<'
  | '<='
  | '>'
  | '>='
  | 'and'
  | 'or';

export type LiteralExpression =
  | { readonly node: 'null'; readonly place: Place }
  | { readonly node: 'boolean'; readonly value: boolean; readonly place: Place }
  /**
   * The text as written, without suffix: `1`, `1.50`, `1e3`, `.5`; suffix L S Y F D BD in upper case, or ''.
   * A sign is a unary operator around it, so `-128Y` is one literal only once the binder folds it; a minus
   * before a number binds tighter than `::`, as in Spark.
   */
  | {
      readonly node: 'number';
      readonly text: string;
      readonly suffix: string;
      readonly place: Place;
    }
  /** Escapes are resolved (not in r'…'); adjacent literals are joined. */
  | { readonly node: 'string'; readonly value: string; readonly place: Place }
  /** DATE'…', TIMESTAMP'…', TIMESTAMP_NTZ'…', TIMESTAMP_LTZ'…', TIME'…', X'…', INTERVAL'…'; `type` in lower case. */
  | { readonly node: 'typed'; readonly type: string; readonly text: string; readonly place: Place };

/** `INTERVAL 3 DAYS`, `INTERVAL '1' HOUR 30 MINUTES`: unit in lower-case singular. */
export type IntervalUnit = {
  readonly value: Expression;
  readonly unit: string;
  readonly place: Place;
};

export type CallExpression = {
  readonly node: 'call';
  readonly name: Name;
  readonly distinct: boolean;
  readonly arguments: readonly Expression[];
  /** `f(name => e)`; empty for positional ones. */
  readonly named: readonly { readonly name: Identifier; readonly value: Expression }[];
  readonly filter: Expression | undefined;
  readonly ignoreNulls: boolean;
  /** `WITHIN GROUP (ORDER BY …)`; absent without it. */
  readonly withinGroup?: readonly OrderItem[];
  /** `OVER (…)` or `OVER w`. */
  readonly window: WindowSpec | undefined;
  readonly place: Place;
};

export type WindowSpec = {
  readonly partitionBy: readonly Expression[];
  readonly orderBy: readonly OrderItem[];
  /** As written, from ROWS or RANGE on. */
  readonly frame: string | undefined;
  /** The name of a window of the WINDOW clause, `OVER w`; absent otherwise. */
  readonly reference?: Identifier;
  readonly place: Place;
};

export type OrderItem = {
  readonly value: Expression;
  readonly descending: boolean;
  readonly nulls: 'first' | 'last' | undefined;
};

// ---------------------------------------------------------------- types

export type TypeNode =
  | {
      readonly node: 'simple';
      readonly name: string;
      readonly parameters: readonly number[];
      readonly place: Place;
    }
  | { readonly node: 'array'; readonly element: TypeNode; readonly place: Place }
  | {
      readonly node: 'map';
      readonly key: TypeNode;
      readonly value: TypeNode;
      readonly place: Place;
    }
  | { readonly node: 'struct'; readonly fields: readonly ColumnDefinition[]; readonly place: Place }
  /** `INTERVAL`, `INTERVAL DAY TO SECOND`, …; lower case, `to` absent for a single field or the calendar interval. */
  | {
      readonly node: 'interval_type';
      readonly from: string | undefined;
      readonly to: string | undefined;
      readonly place: Place;
    };

export type ColumnDefinition = {
  readonly name: Identifier;
  readonly type: TypeNode;
  readonly notNull: boolean;
  readonly comment: string | undefined;
  readonly defaultValue: Expression | undefined;
  readonly place: Place;
};

/** A column in front of the query of a view. */
export type ViewColumn = {
  readonly name: Identifier;
  /** undefined: that of the query. */
  readonly type: TypeNode | undefined;
  readonly notNull: boolean;
  readonly comment: string | undefined;
  readonly place: Place;
};

// ---------------------------------------------------------------- queries

/** A part of Spark SQL that no flow carries out: parsed and kept as written, so that it can be refused by name. */
export type ForeignClause = {
  readonly clause: string;
  readonly text: string;
  readonly place: Place;
  /** What PIVOT and UNPIVOT say: a query over tables carries them out. */
  readonly pivot?: Pivot | Unpivot;
};

/** `PIVOT (aggregate [AS name], … FOR column IN (value [AS name], …))`; several columns have tuples of values. */
export type Pivot = {
  readonly kind: 'pivot';
  readonly aggregates: readonly {
    readonly value: Expression;
    readonly name: Identifier | undefined;
  }[];
  readonly columns: readonly Identifier[];
  readonly values: readonly Expression[];
};

/** `UNPIVOT (value FOR name IN (column [AS name], …))`; several values have groups of columns. */
export type Unpivot = {
  readonly kind: 'unpivot';
  readonly includesNulls: boolean;
  readonly values: readonly Identifier[];
  readonly name: Identifier;
  readonly groups: readonly {
    readonly columns: readonly Name[];
    readonly alias: Identifier | undefined;
  }[];
};

export type CommonTable = {
  readonly name: Identifier;
  readonly columns: readonly Identifier[];
  readonly query: Query;
  /** `MAX RECURSION LEVEL n`. */
  readonly levels?: Expression;
};

export type Query = {
  readonly ctes: readonly CommonTable[];
  /** `WITH RECURSIVE`: its place. */
  readonly recursive?: Place;
  readonly body: QueryBody;
  readonly orderBy: readonly OrderItem[];
  /** SORT BY, CLUSTER BY, DISTRIBUTE BY: the first one's name and the text of all, kept so that they can be refused by name. */
  readonly otherOrder: ForeignClause | undefined;
  readonly orderPlace: Place | undefined;
  readonly limit: Expression | undefined;
  readonly offset: Expression | undefined;
  readonly place: Place;
};

export type QueryBody =
  | SelectQuery
  | {
      readonly node: 'set';
      readonly operator: 'union' | 'intersect' | 'except';
      readonly all: boolean;
      readonly byName: boolean;
      readonly left: QueryBody;
      readonly right: QueryBody;
      readonly place: Place;
    }
  | {
      readonly node: 'values';
      readonly rows: readonly (readonly Expression[])[];
      readonly alias: TableAlias | undefined;
      readonly place: Place;
    }
  | { readonly node: 'table'; readonly name: Name; readonly place: Place }
  | { readonly node: 'parenthesized'; readonly query: Query; readonly place: Place };

export type SelectQuery = {
  readonly node: 'select';
  readonly distinct: boolean;
  readonly items: readonly SelectItem[];
  readonly from: readonly Relation[];
  readonly lateralViews: readonly LateralView[];
  readonly where: Expression | undefined;
  readonly groupBy: GroupBy | undefined;
  readonly having: Expression | undefined;
  readonly qualify: Expression | undefined;
  readonly windows: readonly { readonly name: Identifier; readonly spec: WindowSpec }[];
  readonly place: Place;
};

export type SelectItem = {
  readonly value: Expression;
  /** `AS a`; several for a generator: `AS (a, b)`. */
  readonly aliases: readonly Identifier[];
  /** Where the alias stands if AS does not stand before it. */
  readonly bareAliasPlace?: Place;
  readonly place: Place;
};

export type GroupBy = {
  readonly all: boolean;
  /** What stands before GROUPING SETS, where that is not a list of its own. */
  readonly keys?: readonly Expression[];
  readonly items: readonly Expression[];
  readonly place: Place;
};

export type TableAlias = { readonly name: Identifier; readonly columns: readonly Identifier[] };

export type LateralView = {
  readonly outer: boolean;
  readonly call: CallExpression;
  readonly table: Identifier | undefined;
  readonly columns: readonly Identifier[];
  readonly place: Place;
};

export type Relation =
  /** A name, or `STREAM(name)` / `STREAM name` with `stream: true`. `options` from `WITH (k = v)`. */
  | {
      readonly node: 'named';
      readonly name: Name;
      readonly stream: boolean;
      readonly options: readonly Option[];
      readonly watermark: Watermark | undefined;
      readonly alias: TableAlias | undefined;
      readonly place: Place;
    }
  /** `read_kafka(…)`, `range(…)`, `explode(…)`: a table-valued function, under STREAM or not. */
  | {
      readonly node: 'function';
      readonly call: CallExpression;
      readonly stream: boolean;
      readonly watermark: Watermark | undefined;
      readonly alias: TableAlias | undefined;
      readonly place: Place;
    }
  | {
      readonly node: 'subquery';
      readonly query: Query;
      /** `STREAM (SELECT …)`: kept so that it can be refused by name. */
      readonly stream: boolean;
      readonly watermark: Watermark | undefined;
      readonly alias: TableAlias | undefined;
      readonly place: Place;
    }
  | {
      readonly node: 'join';
      readonly kind: 'inner' | 'left' | 'right' | 'full' | 'cross' | 'left_semi' | 'left_anti';
      readonly natural: boolean;
      readonly lateral: boolean;
      readonly left: Relation;
      readonly right: Relation;
      readonly on: Expression | undefined;
      readonly using: readonly Identifier[];
      readonly place: Place;
    }
  | {
      readonly node: 'inline';
      readonly values: Extract<QueryBody, { node: 'values' }>;
      readonly place: Place;
    }
  /** A relation under PIVOT, UNPIVOT, TABLESAMPLE, VERSION AS OF or TIMESTAMP AS OF, or joined relations under one alias. */
  | {
      readonly node: 'foreign';
      readonly relation: Relation;
      readonly clause: ForeignClause;
      readonly watermark: Watermark | undefined;
      readonly alias: TableAlias | undefined;
      readonly place: Place;
    }
  /** Stands for text that could not be read and has its fault. */
  | { readonly node: 'unread'; readonly watermark: undefined; readonly place: Place };

/** `WATERMARK ts DELAY OF INTERVAL 5 MINUTES`. */
export type Watermark = {
  readonly column: Expression;
  readonly delay: Expression;
  readonly place: Place;
};

// ---------------------------------------------------------------- statements

export type Option = { readonly key: string; readonly value: OptionValue; readonly place: Place };
export type OptionValue = string | number | boolean;

export type Constraint = {
  readonly name: Identifier;
  readonly condition: Expression;
  readonly action: 'warn' | 'drop' | 'fail';
  readonly place: Place;
};

export type TableBody = {
  readonly columns: readonly ColumnDefinition[];
  readonly constraints: readonly Constraint[];
  readonly comment: string | undefined;
  /** WITH (…), OPTIONS (…) and TBLPROPERTIES (…), each entry with the clause it stood in. */
  readonly options: readonly (Option & { readonly clause: 'with' | 'options' | 'tblproperties' })[];
  /** USING, PARTITIONED BY, CLUSTER BY, LOCATION, SCHEDULE, ROW FILTER …: parsed, kept by name for refusals or to be ignored. */
  readonly clauses: readonly ForeignClause[];
};

export type ReplaceUsing = {
  readonly keys: readonly Identifier[];
  /** SEQUENCE BY items as written (exactly one is valid); undefined when the clause is missing. */
  readonly sequence: readonly Expression[] | undefined;
  /** APPLY AS EMPTY WHEN (condition). */
  readonly emptyWhen: Expression | undefined;
  readonly place: Place;
};

export type AutoCdc = {
  readonly once: boolean;
  readonly source: Relation;
  readonly keys: readonly Expression[];
  readonly ignoreNullUpdates: boolean;
  /** `IGNORE NULL UPDATES ON (…)` / `ON * EXCEPT (…)`, or undefined. */
  readonly ignoreNullColumns: ColumnSelection | undefined;
  readonly deleteWhen: Expression | undefined;
  readonly truncateWhen: Expression | undefined;
  readonly sequence: readonly Expression[] | undefined;
  readonly columns: ColumnSelection | undefined;
  readonly scdType: 1 | 2 | undefined;
  readonly trackHistory: ColumnSelection | undefined;
  readonly place: Place;
};

/** `(a, b)` or `* EXCEPT (a, b)`. */
export type ColumnSelection = {
  readonly except: boolean;
  readonly columns: readonly Name[];
  readonly place: Place;
};

/** What a flow does to its target. */
export type FlowBody =
  | {
      readonly node: 'insert';
      readonly once: boolean;
      readonly byName: boolean;
      readonly replaceUsing: ReplaceUsing | undefined;
      readonly replaceWhere: Expression | undefined;
      readonly query: Query;
      readonly place: Place;
    }
  | { readonly node: 'auto_cdc'; readonly cdc: AutoCdc; readonly place: Place };

export type Statement =
  | {
      readonly node: 'create_source';
      readonly name: Name;
      readonly orReplace: boolean;
      readonly ifNotExists: boolean;
      readonly body: TableBody;
      readonly place: Place;
    }
  | {
      readonly node: 'create_streaming_table';
      readonly name: Name;
      readonly orRefresh: boolean;
      readonly ifNotExists: boolean;
      readonly private: boolean;
      readonly body: TableBody;
      /** The default flow: `AS query` (append) or `FLOW …`. */
      readonly flow: FlowBody | undefined;
      readonly place: Place;
    }
  | {
      readonly node: 'create_materialized_view';
      readonly name: Name;
      readonly orRefresh: boolean;
      readonly ifNotExists: boolean;
      readonly private: boolean;
      /** Names for what the query gives, in its order; none: it keeps its own. */
      readonly columns: readonly ViewColumn[];
      readonly body: TableBody;
      readonly query: Query;
      readonly place: Place;
    }
  | {
      readonly node: 'create_view';
      readonly name: Name;
      readonly orReplace: boolean;
      readonly ifNotExists: boolean;
      readonly temporary: boolean;
      /** Names for what the query gives, in its order; none: it keeps its own. */
      readonly columns: readonly ViewColumn[];
      readonly body: TableBody;
      readonly query: Query;
      readonly place: Place;
    }
  | {
      readonly node: 'create_flow';
      readonly name: Name;
      readonly comment: string | undefined;
      readonly target: Name;
      readonly body: FlowBody;
      readonly place: Place;
    }
  /** APPLY CHANGES INTO …, the old spelling of AUTO CDC. */
  | {
      readonly node: 'apply_changes';
      readonly target: Name;
      readonly cdc: AutoCdc;
      readonly place: Place;
    }
  | {
      readonly node: 'create_sink';
      readonly name: Name;
      readonly ifNotExists: boolean;
      readonly body: TableBody;
      readonly place: Place;
    }
  | {
      readonly node: 'set';
      readonly key: string;
      readonly value: OptionValue;
      readonly place: Place;
    }
  /** A statement of Spark SQL that has no place in a pipeline (INSERT, USE, …): its syntax is checked, its text kept. */
  | { readonly node: 'foreign'; readonly clause: ForeignClause; readonly place: Place }
  /** A bare query: only for `eval` and tests. */
  | { readonly node: 'query'; readonly query: Query; readonly place: Place };
