import type { Column } from '../../data/types.ts';
import type { Query } from '../../sql/ast.ts';
import type { Catalog, TableDataset, ViewDataset } from '../catalog.ts';
import type { FaultList } from '../faults.ts';
import type { ReplacedSource } from '../pipeline-plan.ts';
import type { BoundRelation } from '../relation.ts';
import type { StageList } from '../stage-list.ts';

/** A common table expression, with the names that were known where it stands. */
export type CommonTable = {
  readonly query: Query;
  readonly columns: Query['ctes'][number]['columns'];
  readonly ctes: ReadonlyMap<string, CommonTable>;
};

/** By whether the query is read as it is, as a stream, or as it stands now, since that changes what it means. */
export type QueryMemo = {
  readonly plain: QueryFacts;
  readonly streamed: QueryFacts;
  readonly static: QueryFacts;
};

type QueryFacts = {
  readonly bound: Map<Query, BoundRelation | undefined>;
  readonly streaming: Map<Query, boolean>;
  readonly judged: Map<ViewDataset, BoundRelation | undefined>;
};

export function emptyMemo(): QueryMemo {
  const facts = (): QueryFacts => ({
    bound: new Map(),
    streaming: new Map(),
    judged: new Map(),
  });
  return { plain: facts(), streamed: facts(), static: facts() };
}

export function factsIn(context: BindContext): QueryFacts {
  if (context.isStatic) return context.memo.static;
  return context.isStreamed ? context.memo.streamed : context.memo.plain;
}

/** Binds the query behind a name. */
export function bindNamedQuery(query: Query, context: BindContext): BoundRelation | undefined {
  const { bound } = factsIn(context);
  if (bound.has(query)) return bound.get(query);
  const relation = context.bindQuery(query, context);
  bound.set(query, relation);
  return relation;
}

/** What the parts of a query are bound in. */
export type BindContext = {
  readonly catalog: Catalog;
  readonly faults: FaultList;
  /** The texts that places speak of, by file. */
  readonly texts: ReadonlyMap<string, string>;
  readonly ctes: ReadonlyMap<string, CommonTable>;
  /** Inside STREAM(view): what the view reads is streamed, with or without STREAM. */
  readonly isStreamed: boolean;
  /** The query of a flow that runs once: it is a batch, and its sources are named without STREAM. */
  readonly isOnce?: boolean;
  /** On the static side of a join: sources and tables are read as they stand. */
  readonly isStatic: boolean;
  /** The views that are being inlined, outermost first. */
  readonly views: readonly string[];
  /** What the flow does to its target. */
  readonly flow: 'replace_using' | 'append' | 'auto_cdc';
  /** Takes what the query needs before the flow, as a join of two streams; undefined: the flow can have nothing there. */
  readonly stages: StageList | undefined;
  /** The columns of a table whose flows append, once these are bound; undefined: their faults are told. */
  readonly columnsOf: (table: TableDataset) => readonly Column[] | undefined;
  /** How a table is written whose rows are replaced, once its flow is bound; undefined: no such table, or its faults are told. */
  readonly replacedBy: (table: TableDataset) => ReplacedSource | undefined;
  /** What was found out about queries that have names, so that each is looked at once however often it is read. */
  readonly memo: QueryMemo;
  /** Passed in, so that queries and relations, which contain each other, need no import cycle. */
  readonly bindQuery: (query: Query, context: BindContext) => BoundRelation | undefined;
};
