import { type Fault, FaultError, type Place } from '../base/place.ts';

/**
 * Every code with which a pipeline is refused or warned of, with what it means: the documentation of
 * the codes is generated from it. Invariant: a code keeps its meaning for ever. Errors inside an
 * expression carry Spark's error classes instead and do not stand here.
 */
export const planFaults = {
  // names
  NAME_TAKEN:
    'Two sources, tables, views or sinks of a pipeline, or two parts of a WITH, have one name, or one has the name of the rows between two stages of a flow.',
  NAME_UNKNOWN: 'A query reads a name that the pipeline does not define.',
  FLOW_NAME_TAKEN:
    'Two flows have the same name, or a flow has one that a stage of another flow has; the name of a flow is its checkpoint.',
  FLOW_NAME_INVALID:
    'A flow name has characters that a topic or consumer group cannot have, or is one that the flow of a refresh has.',
  TOPIC_NAME_INVALID: 'A topic name is empty, too long, or has characters that Kafka refuses.',
  TOPIC_TAKEN:
    'Two tables write the same topic, or a table writes a topic that a source reads or that the pipeline keeps for itself.',
  COLUMN_DUPLICATE: 'A column is declared twice.',
  CONSTRAINT_DUPLICATE: 'Two expectations of one table have the same name.',
  // sources and options
  SOURCE_UNDECLARED: 'A stream reads a topic whose columns the pipeline does not declare.',
  SOURCE_COLUMNS: 'The columns of a source do not suit its format.',
  SOURCE_CONSTRAINT: 'A source has an expectation; expectations belong to the table.',
  SINK_CONSTRAINT: 'A sink has an expectation; expectations belong to what is before it.',
  HIDDEN_COLUMN_SHADOWED: 'A declared column hides a hidden column of the source.',
  OPTION_UNKNOWN: 'An option does not exist.',
  OPTION_VALUE: 'The value of an option has the wrong type or is out of range.',
  EXPRESSION_OPERATOR:
    'A program has an operator of JavaScript between expressions, which would be computed before there is a row.',
  EXPRESSION_DROPPED:
    'A function of a program makes a condition that is not part of what it gives.',
  OPTION_DUPLICATE: 'An option is given twice.',
  OPTION_MISPLACED: 'An option of ours stands among the table properties, where nothing reads it.',
  CLAUSE_IGNORED: 'A clause of another system has no meaning on Kafka and is ignored.',
  CLAUSE_REFUSED: 'A clause would protect data elsewhere; ignoring it could expose rows.',
  NOT_NULL_IGNORED: 'NOT NULL on a column is not enforced; an expectation is.',
  SETTING_UNKNOWN: 'SET names a setting that does not exist.',
  SETTING_VALUE: 'SET gives a setting a value that it cannot have.',
  SETTING_CONFLICT: 'A setting is set twice to different values.',
  SETTING_IGNORED: 'A setting of another system is ignored.',
  STATEMENT_REFUSED: 'A statement is of no use in a pipeline, such as a query without a target.',
  // targets and flows
  TARGET_UNKNOWN: 'The target of a flow is not created in the pipeline.',
  TARGET_KIND: 'The target of a flow is not a streaming table.',
  SECOND_REPLACE_FLOW: 'A target has two REPLACE USING flows, or two REPLACE WHERE flows.',
  FLOW_MIX:
    'A target of a REPLACE USING or REPLACE WHERE flow is also written by a flow of another kind.',
  CDC_MIX: 'A target of AUTO CDC flows is also written by a flow of another kind.',
  BY_NAME_MISSING: 'A flow does not say BY NAME.',
  TABLE_CYCLE: 'Tables or views read each other in a circle.',
  TABLE_WITHOUT_FLOW: 'A table has neither a flow that writes it nor columns.',
  SINK_WITHOUT_FLOW: 'A sink has no flow that writes it.',
  STREAM_OF_REPLACED_ROWS:
    'A flow that appends, or a join of streams, streams a table whose rows are replaced; or any flow one that AUTO CDC changes.',
  REPLACED_KEYS:
    'A REPLACE USING flow streams a table whose rows are replaced, under other keys than that table has.',
  REPLACED_SEQUENCE:
    'A REPLACE USING flow streams a table whose rows are replaced, under another sequence than that table has.',
  REPLACE_WHERE_CONDITION:
    'The condition of a REPLACE WHERE flow is no boolean, or depends on chance.',
  // REPLACE USING
  REPLACE_USING_KEY_MISSING: 'REPLACE USING lists no key column.',
  KEY_DUPLICATE: 'REPLACE USING lists a key column twice.',
  KEY_UNKNOWN: 'A key column is not a column of the query, or not one that the table declares.',
  KEY_TYPE: 'A key column has a type whose values have no order, such as MAP or VARIANT.',
  KEY_NONDETERMINISTIC: 'A key column depends on the clock, on chance or on static data.',
  SEQUENCE_BY_MISSING: 'REPLACE USING or AUTO CDC has no SEQUENCE BY.',
  SEQUENCE_BY_COUNT: 'SEQUENCE BY lists more or fewer than one expression.',
  SEQUENCE_UNKNOWN:
    'SEQUENCE BY names a column that the query does not give, or that the table does not declare.',
  SEQUENCE_TYPE: 'The sequence has a type whose values have no order.',
  SEQUENCE_NONDETERMINISTIC: 'The sequence depends on the clock, on chance or on static data.',
  SEQUENCE_COARSE:
    'The sequence is a date or has whole seconds, so that versions of a key may tie.',
  EMPTY_WHEN_TYPE: 'The condition of APPLY AS EMPTY WHEN is not a boolean.',
  EXPLODE_EMPTY: 'An empty array gives no row, so it cannot replace the rows of a key.',
  NONDETERMINISTIC:
    'A query depends on the clock or on chance, so its result depends on when it ran.',
  STATIC_SIDE: 'A query joins with static data, so its result depends on when that changes.',
  CDC_KEYS_MISSING: 'AUTO CDC has no KEYS.',
  CDC_TRUNCATE_HISTORY: 'AUTO CDC with history cannot truncate.',
  CDC_HISTORY_ONLY: 'TRACK HISTORY is only of use with SCD TYPE 2.',
  CDC_HISTORY_COLUMNS:
    'The columns of the history are declared otherwise than SCD TYPE 2 fills them.',
  CDC_COLUMN_UNKNOWN: 'A clause of AUTO CDC names a column that is not there.',
  CDC_FEED: 'A source has the columns of a Debezium envelope and is not read as one.',
  CDC_WHEN_TYPE: 'The condition of APPLY AS DELETE or APPLY AS TRUNCATE is not a boolean.',
  CDC_FLOWS_DIFFER: 'AUTO CDC flows into one table do not agree on what it stores.',
  // columns of the result
  TARGET_COLUMN_UNKNOWN: 'A column of the query does not stand among the declared columns.',
  TARGET_COLUMN_TYPE: 'A column of the query cannot be stored in the declared type.',
  OUTPUT_COLUMN_DUPLICATE: 'Two columns of the query have the same name.',
  ALIAS_HIDES_COLUMN:
    'An alias without AS is the name of another column: a comma may have been forgotten.',
  OUTPUT_COLUMN_UNNAMED: 'A column of the query has no name.',
  OUTPUT_COLUMN_UNTYPED: 'A column of the query is NULL without a type.',
  TARGET_COLUMN_NARROW:
    'A column is declared in a type that does not hold every value that the query may give.',
  DISTINCT_CAST: 'Storing a column of SELECT DISTINCT in its declared type may make rows equal.',
  DISTINCT_TYPE: 'SELECT DISTINCT gives a column whose values cannot be compared.',
  DISTINCT_NESTED: 'SELECT DISTINCT is not the outermost part of the query.',
  // expectations
  EXPECTATION_TYPE: 'The condition of an expectation is not a boolean.',
  // what a streaming query cannot do
  STREAM_IN_ONCE: 'A flow that runs once reads with STREAM.',
  FILE_NOT_STREAMING:
    'A source that is a file is read otherwise than as the static side of a join.',
  SOURCE_NOT_STREAMING: 'A streaming flow reads something that is not a stream.',
  STREAM_OVER_QUERY: 'STREAM stands around a query instead of a name.',
  AGGREGATE_REFUSED: 'A streaming query has an aggregate function.',
  GROUP_BY_REFUSED: 'A streaming query has GROUP BY.',
  HAVING_REFUSED: 'A streaming query has HAVING.',
  QUALIFY_REFUSED: 'A streaming query has QUALIFY.',
  WINDOW_FUNCTION_REFUSED: 'A streaming query has a window function.',
  ORDER_BY_REFUSED: 'A streaming query has ORDER BY.',
  SORT_BY_REFUSED: 'A streaming query has SORT BY, CLUSTER BY or DISTRIBUTE BY.',
  OFFSET_REFUSED: 'A streaming query has OFFSET.',
  LIMIT_NESTED: 'LIMIT is not the outermost part of a streaming query.',
  LIMIT_VALUE: 'LIMIT is no whole number of rows.',
  LIMIT_PARTITIONS: 'A table whose flow has a LIMIT declares several partitions.',
  INTERSECT_REFUSED: 'A streaming query has INTERSECT.',
  EXCEPT_REFUSED: 'A streaming query has EXCEPT or MINUS.',
  UNION_DISTINCT_REFUSED: 'A streaming query has UNION without ALL.',
  UNION_MIX: 'A UNION ALL has a side that is not a stream.',
  UNION_COLUMNS: 'The sides of a UNION ALL have different columns.',
  UNION_TYPE: 'The sides of a UNION ALL have columns whose types have nothing in common.',
  UNION_SIDES: 'A flow unites more streams than the provenance of a row can tell apart.',
  GENERATORS_NESTED: 'A query explodes more than two levels deep, joins counted.',
  STATIC_DISTINCT: 'The static side of a join has SELECT DISTINCT.',
  SUBQUERY_REFUSED: 'A streaming query has a subquery inside an expression.',
  JOIN_STATIC_OUTER: 'A stream is joined with static data by a right or full join.',
  JOIN_STREAM_RIGHT: 'The stream stands on the right side of a join with static data.',
  JOIN_STREAM_HALF: 'Two streams are joined by a semi or anti join.',
  JOIN_STREAM_FLOW: 'A flow joins two streams that has no stage for it.',
  JOIN_EQUALITY_MISSING: 'A join of two streams compares nothing by equality.',
  JOIN_NONDETERMINISTIC:
    'A join of two streams compares a value that depends on the clock or chance.',
  JOIN_STATE_UNBOUNDED: 'A join of two streams keeps every row of both for ever.',
  JOIN_WATERMARK_MISSING: 'An outer join of two streams has no watermark.',
  JOIN_TIME_RANGE_MISSING:
    'An outer join of two streams has no condition that bounds the time between them.',
  WATERMARK_MISSING: 'A time window has no watermark.',
  WATERMARK_INVALID: 'A watermark is not made of a timestamp and a length of time.',
  TIME_WINDOWS: 'A select list has several different time windows.',
  RELATION_REFUSED:
    'A streaming query has WITH RECURSIVE, PIVOT, UNPIVOT, TABLESAMPLE or an old version of a table.',
  ALIAS_COLUMNS: 'An alias names more or fewer columns than there are.',
  NOT_SUPPORTED_YET: 'A construct is valid, and this version cannot run it yet.',
} as const satisfies Record<string, string>;

export type PlanFaultCode = keyof typeof planFaults;

/** What a fault says beyond its code, its place and its message. */
export type FaultText = {
  readonly detail?: string | undefined;
  readonly hint?: string | undefined;
};

export function planFault(
  code: PlanFaultCode,
  message: string,
  place: Place,
  text: FaultText = {},
): Fault {
  return build('error', code, { message, place, text });
}

export function planWarning(
  code: PlanFaultCode,
  message: string,
  place: Place,
  text: FaultText = {},
): Fault {
  return build('warning', code, { message, place, text });
}

/** The fault of a construct that later versions run. */
export function notSupportedYet(construct: string, place: Place, hint?: string): Fault {
  return planFault('NOT_SUPPORTED_YET', `${construct} is not supported yet`, place, { hint });
}

function build(
  severity: Fault['severity'],
  code: string,
  rest: { message: string; place: Place; text: FaultText },
): Fault {
  const { detail, hint } = rest.text;
  return {
    severity,
    code,
    message: rest.message,
    ...(detail === undefined ? {} : { detail }),
    ...(hint === undefined ? {} : { hint }),
    place: rest.place,
  };
}

/**
 * Thrown where something depends on a part that already has its fault: whoever catches it says nothing
 * more, so that one mistake gives one message.
 */
export class AlreadyReported extends FaultError {
  constructor(place: Place) {
    super(planFault('NAME_UNKNOWN', 'depends on a part with a fault', place));
  }
}

/**
 * Collects the faults of a pipeline. Invariant: each (code, place, message) stands once, however
 * often a view that has it is inlined.
 */
export class FaultList {
  readonly #faults = new Map<string, Fault>();

  add(fault: Fault): void {
    const { file, start, end } = fault.place;
    const key = JSON.stringify([fault.code, file, start, end, fault.message]);
    if (!this.#faults.has(key)) this.#faults.set(key, fault);
  }

  addAll(faults: Iterable<Fault>): void {
    for (const fault of faults) this.add(fault);
  }

  /** Runs one clause; the fault that it throws is collected, and the result is undefined. */
  attempt<T>(clause: () => T): T | undefined {
    try {
      return clause();
    } catch (error) {
      if (!(error instanceof FaultError)) throw error;
      if (!(error instanceof AlreadyReported)) this.add(error.fault);
      return undefined;
    }
  }

  get hasErrors(): boolean {
    for (const fault of this.#faults.values()) if (fault.severity === 'error') return true;
    return false;
  }

  /** In the order of the files given and of the places in them. */
  sorted(files: readonly string[]): Fault[] {
    const rank = new Map(files.map((file, index) => [file, index]));
    const rankOf = (fault: Fault): number => rank.get(fault.place.file) ?? files.length;
    return [...this.#faults.values()].sort(
      (a, b) => rankOf(a) - rankOf(b) || a.place.start - b.place.start || a.place.end - b.place.end,
    );
  }
}
