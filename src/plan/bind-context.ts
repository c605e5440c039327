import type { Query } from '../sql/ast.ts';
import type { Catalog } from './catalog.ts';
import type { FaultList } from './faults.ts';
import type { BoundRelation } from './relation.ts';

/** A common table expression, with the names that were known where it stands. */
export type CommonTable = {
  readonly query: Query;
  readonly columns: Query['ctes'][number]['columns'];
  readonly ctes: ReadonlyMap<string, CommonTable>;
};

/** What the parts of a query are bound in. */
export type BindContext = {
  readonly catalog: Catalog;
  readonly faults: FaultList;
  readonly ctes: ReadonlyMap<string, CommonTable>;
  /** Inside STREAM(view): what the view reads is streamed, with or without STREAM. */
  readonly isStreamed: boolean;
  /** The views that are being inlined, outermost first. */
  readonly views: readonly string[];
  /** What the flow does to its target. */
  readonly flow: 'replace_using' | 'append' | 'auto_cdc';
  /** Passed in, so that queries and relations, which contain each other, need no import cycle. */
  readonly bindQuery: (query: Query, context: BindContext) => BoundRelation | undefined;
};
