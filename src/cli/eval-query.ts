import { type Fault, FaultError } from '../base/place.ts';
import { canonicalValue } from '../data/canonical.ts';
import type { Column } from '../data/types.ts';
import type { Row } from '../data/value.ts';
import { ExpressionError } from '../expr/expression-error.ts';
import { planBatchQuery } from '../plan/batch/batch-query.ts';
import { runBatch } from '../task/batch-run.ts';

export type SourceTable = {
  readonly name: string;
  readonly columns: readonly Column[];
  readonly rows: readonly Row[];
};

export type Evaluation =
  | { readonly state: 'done'; readonly columns: readonly Column[]; readonly rows: readonly Row[] }
  | {
      readonly state: 'failed';
      readonly phase: 'analysis' | 'runtime';
      /** Spark's error class where there is one. */
      readonly code: string;
      readonly message: string;
      /** With the place in the text, where it is known. */
      readonly fault: Fault | undefined;
    };

/** Evaluates queries over the tables that it was given. Invariant: whatever the text is, `evaluate` answers and never throws. */
export class Evaluator {
  readonly #tables: ReadonlyMap<string, SourceTable>;
  readonly #timeZone: string;

  constructor(tables: readonly SourceTable[], timeZone: string) {
    this.#tables = new Map(tables.map((table) => [table.name.toLowerCase(), table]));
    this.#timeZone = timeZone;
  }

  evaluate(sql: string, form: 'query' | 'expression'): Evaluation {
    try {
      return this.#evaluate(sql, form === 'expression');
    } catch (error) {
      return failed(error);
    }
  }

  #evaluate(sql: string, isExpression: boolean): Evaluation {
    const { plan, columns } = planBatchQuery(sql, 'sql', {
      timeZone: this.#timeZone,
      isExpression,
      findTable: ({ parts }) =>
        this.#tables.get(parts.map((part) => part.text.toLowerCase()).join('.')),
    });
    const rows = [
      ...runBatch(plan, {
        timeZone: this.#timeZone,
        nowMicros: BigInt(Date.now()) * 1_000n,
        rowsOf: (name) => this.#tables.get(name.toLowerCase())?.rows ?? [],
      }),
    ];
    return {
      state: 'done',
      columns: columns.map(({ name = '', type }) => ({ name, type })),
      rows,
    };
  }
}

function failed(error: unknown): Evaluation {
  if (error instanceof FaultError) {
    const { code, message } = error.fault;
    return { state: 'failed', phase: 'analysis', code, message, fault: error.fault };
  }
  if (error instanceof ExpressionError) {
    const { errorClass: code, message, place } = error;
    const fault: Fault | undefined = place && { severity: 'error', code, message, place };
    return { state: 'failed', phase: 'runtime', code, message, fault };
  }
  const message = error instanceof Error ? error.message : String(error);
  return { state: 'failed', phase: 'runtime', code: 'INTERNAL_ERROR', message, fault: undefined };
}

export function canonicalRow(columns: readonly Column[], row: Row): readonly unknown[] {
  return columns.map(({ type }, i) => canonicalValue(type, row[i] ?? null));
}
