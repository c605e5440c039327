import { type Provenance, topicIdHex } from '../../data/provenance.ts';
import { sideOf } from '../../refresh/retention.ts';
import type { FlowFacts, SourceFacts } from './flow-facts.ts';
import type { CommittedSet } from './read-table.ts';
import type { SourceSpan } from './source-rows.ts';

/** Records of a source that the flow has read; `isVersions`: of a table whose rows are replaced. */
export type VerifiedSpan = SourceSpan & {
  readonly isVersions: boolean;
  /** The table of the pipeline whose output it is: the rows name the first sources, not places of this topic. */
  readonly table: string | undefined;
};

/**
 * - `readable`: everything that the rows came from can be read again.
 * - `unreadable`: a record that one of them came from is gone from its source.
 * - `unknown`: they came through a table whose topic lacks a part, and do not say where they stood in it.
 * - `moved`: a row beyond the checkpoints came meanwhile.
 */
export type KeyReadability = 'readable' | 'unreadable' | 'unknown' | 'moved';

/**
 * Tells whether what the rows of a key came from can be read again. Invariant: rows that came through a table of the
 * pipeline are judged by what that table's topic has, whatever became of the sources that they name.
 */
export class VerifyReadability {
  readonly #spans: readonly VerifiedSpan[];
  /** One a branch: what it reads of a table; undefined: it reads none. */
  readonly #tables: readonly (readonly VerifiedSpan[] | undefined)[];
  /** Tables whose topics lack a part. */
  readonly partTables: readonly string[];

  constructor({ flow, sources }: FlowFacts, spans: readonly VerifiedSpan[]) {
    this.#spans = spans;
    this.#tables = flow.branches.map((_, branch) => {
      const source = sources.find((one) => one.branches.some((each) => each.branch === branch));
      return source === undefined || tableReadBy(source) === undefined
        ? undefined
        : spans.filter(({ topic }) => topic === source.topic);
    });
    const names = spans.flatMap((span) =>
      span.table === undefined || isWhole(span) ? [] : span.table,
    );
    this.partTables = [...new Set(names)];
  }

  of(set: CommittedSet): KeyReadability {
    const states = new Set(
      set.rows.flatMap(({ sources }) => sources.map((one) => this.#ofRow(one))),
    );
    return worstFirst.find((state) => states.has(state)) ?? 'readable';
  }

  #ofRow({ topicId, partition, offset, branch }: Provenance): KeyReadability {
    const table = this.#tables[sideOf(branch, this.#tables)];
    if (table !== undefined) return table.every(isWhole) ? 'readable' : 'unknown';
    const span = this.#spans.find(
      (one) => topicIdHex(one.topicId) === topicId && one.partition === partition,
    );
    if (span === undefined || offset < span.from) return 'unreadable';
    return offset >= span.to ? 'moved' : 'readable';
  }
}

const worstFirst = ['moved', 'unreadable', 'unknown'] as const;

/** The last versions of a table are always there; of one that appends, every record has to be. */
function isWhole({ isVersions, from }: VerifiedSpan): boolean {
  return isVersions || from === 0;
}

/** The table whose output topic a source is; undefined: it is none's. */
export function tableReadBy({ branches }: SourceFacts): string | undefined {
  return branches.find(({ source }) => source.table !== undefined)?.source.table;
}

/** Whether it is a table whose rows are replaced. */
export function isVersioned({ branches }: SourceFacts): boolean {
  return branches.some(({ source }) => source.replaced !== undefined);
}
