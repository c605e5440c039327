import type { Column } from '../../../src/data/types.ts';
import type { Row, Value } from '../../../src/data/value.ts';
import { compile, newFrame } from '../../../src/expr/compile.ts';
import type { Expression } from '../../../src/expr/expression.ts';
import { fault } from '../../../src/expr/faults.ts';
import { bindExpression } from '../../../src/plan/bind/bind-expression.ts';
import { parseExpression } from '../../../src/sql/parse.ts';

/** Expressions over columns that a test names. */
export type Setting = {
  readonly columns?: readonly Column[];
  readonly timeZone?: string;
  readonly nowMicros?: bigint;
};

export function bind(sql: string, { columns = [], timeZone = 'UTC' }: Setting = {}): Expression {
  return bindExpression(parseExpression(sql, 'test.sql'), {
    timeZone,
    resolve: (name) => {
      const [first, ...rest] = name.parts;
      const index = columns.findIndex(
        (column) => column.name.toLowerCase() === first?.text.toLowerCase(),
      );
      const column = columns[index];
      if (column === undefined) {
        throw fault('UNRESOLVED_COLUMN.WITHOUT_SUGGESTION', `no column ${first?.text}`, name.place);
      }
      return { column: { node: 'column', index, ...column, place: name.place }, fields: rest };
    },
  });
}

export function evaluate(sql: string, setting: Setting = {}, row: Row = []): Value {
  const { timeZone = 'UTC', nowMicros = 0n } = setting;
  return compile(bind(sql, setting), { timeZone })(row, newFrame(nowMicros));
}
