import fc from 'fast-check';
import { expect, test } from 'vitest';
import { FaultError } from '../../../src/base/place.ts';
import { canonicalValue } from '../../../src/data/canonical.ts';
import { compile, newFrame } from '../../../src/expr/compile.ts';
import { ExpressionError } from '../../../src/expr/expression-error.ts';
import { functionNames } from '../../../src/expr/function-registry.ts';
import { expressionText } from '../../../src/expr/print.ts';
import { drawFromFuzzSeed } from '../../support/fuzz-seed.ts';
import { bind } from './evaluate.ts';

drawFromFuzzSeed();

const argument = fc.constantFrom(
  'NULL',
  '0',
  '-3',
  '7L',
  '5Y',
  '2.50',
  '-1.5D',
  "double('NaN')",
  'CAST(1.5 AS FLOAT)',
  "'a'",
  "''",
  "'2020-02-29'",
  '\'{"a":[1,2]}\'',
  "'yyyy-MM-dd'",
  "'😀(a'",
  'true',
  "X'00FF'",
  "DATE'2020-02-29'",
  "TIMESTAMP'2020-02-29 12:34:56.789'",
  "TIMESTAMP_NTZ'0001-01-01 00:00:00'",
  'INTERVAL 1 DAY',
  'INTERVAL 2 MONTH',
  'array()',
  'array(3, NULL, 1)',
  "array('b', NULL)",
  'array(array(1), NULL)',
  'map()',
  "map('k', 1)",
  "map(2, array('x'))",
  "named_struct('a', 1, 'b', 'x')",
  "array(named_struct('k', 1, 'v', 2))",
  'x -> x',
  '(x, y) -> x',
  'x -> NULL',
);

/** A result, or an error of the two kinds that there may be; anything else is a bug of ours. */
function outcome(sql: string): unknown {
  try {
    const expression = bind(sql);
    expressionText(expression);
    const value = compile(expression, { timeZone: 'America/New_York' })([], newFrame());
    return canonicalValue(expression.type, value) === undefined ? `no value: ${sql}` : 'fine';
  } catch (error) {
    if (error instanceof FaultError || error instanceof ExpressionError) {
      return (error instanceof FaultError ? error.fault.place : error.place) === undefined
        ? `no place: ${sql}: ${error.message}`
        : 'fine';
    }
    return `${sql}: ${error instanceof Error ? error.stack : String(error)}`;
  }
}

test('every function gives a value of its type or a named error with a place, whatever its arguments', () => {
  const call = fc
    .tuple(fc.constantFrom(...functionNames()), fc.array(argument, { maxLength: 4 }))
    .map(([name, args]) => `${name}(${args.join(', ')})`);
  fc.assert(
    fc.property(call, (sql) => {
      expect(outcome(sql)).toBe('fine');
    }),
    { numRuns: 6000 },
  );
});

test('every operator does so too', () => {
  const operator = fc.constantFrom(
    ...'+ - * / % DIV || & | ^ << >> = <=> <> < AND OR LIKE RLIKE'.split(' '),
  );
  fc.assert(
    fc.property(argument, operator, argument, (left, op, right) => {
      fc.pre(!left.includes('->') && !right.includes('->'));
      expect(outcome(`(${left}) ${op} (${right})`)).toBe('fine');
      expect(outcome(`(${left})[${right}]`)).toBe('fine');
      expect(outcome(`(${left}) IN (${right}, ${left})`)).toBe('fine');
    }),
    { numRuns: 2000 },
  );
});
