import { expect, test } from 'vitest';
import { columnsOf, isDeterministic, rewriteColumns } from '../../../src/expr/columns.ts';
import { compile, newFrame } from '../../../src/expr/compile.ts';
import { ExpressionError } from '../../../src/expr/expression-error.ts';
import { expressionText } from '../../../src/expr/print.ts';
import { bind, evaluate } from './evaluate.ts';

const columns = [
  { name: 'a', type: { kind: 'int' } },
  { name: 'b', type: { kind: 'int' } },
  { name: 'xs', type: { kind: 'array', element: { kind: 'int' } } },
] as const;

test('a branch that is not taken raises no error, though it is constant', () => {
  expect(evaluate('if(false, 1/0, 1)')).toBe(1);
  expect(evaluate('coalesce(1, 1/0)')).toBe(1);
  expect(evaluate('false AND 1/0 > 1')).toBe(false);
  expect(evaluate('CASE WHEN true THEN 1 ELSE 1 div 0 END')).toBe(1n);
});

test('a constant that fails raises its error on every row, with its place', () => {
  const evaluator = compile(bind('a + 1 div 0', { columns }), { timeZone: 'UTC' });
  for (const row of [[1], [2]]) {
    expect(() => evaluator(row, newFrame())).toThrow(ExpressionError);
  }
  let caught: unknown;
  try {
    evaluator([1], newFrame());
  } catch (error) {
    caught = error;
  }
  expect(caught).toMatchObject({
    errorClass: 'DIVIDE_BY_ZERO',
    place: { line: 1, column: 5, start: 4, end: 11 },
  });
});

test('the error of a function inside a lambda has the place of that function', () => {
  let caught: unknown;
  try {
    evaluate("transform(array('1', 'x'), s -> int(s))");
  } catch (error) {
    caught = error;
  }
  expect(caught).toMatchObject({ errorClass: 'CAST_INVALID_INPUT', place: { column: 33 } });
});

test('lambdas see outer parameters and columns, and hide columns of the same name', () => {
  const setting = { columns };
  expect(
    evaluate('transform(xs, x -> transform(xs, y -> x * 10 + y + a))', setting, [1, 0, [1, 2]]),
  ).toEqual([
    [12, 13],
    [22, 23],
  ]);
  expect(evaluate('transform(xs, a -> a + 1)', setting, [100, 0, [1, 2]])).toEqual([2, 3]);
});

test('a lambda put into another one by a merged projection leaves its parameters alone', () => {
  const outer = bind('transform(xs, x -> x + b + x)', { columns });
  const inner = bind('aggregate(xs, 0, (total, x) -> total + x)', { columns });
  const merged = rewriteColumns(outer, (index) =>
    index === 1 ? inner : bind(columns[index]?.name ?? '', { columns }),
  );
  const evaluator = compile(merged, { timeZone: 'UTC' });
  expect(evaluator([0, 999, [1, 2, 3]], newFrame())).toEqual([8, 10, 12]);
});

test('columns are found inside lambdas, and clocks make an expression undeterministic', () => {
  const expression = bind('transform(xs, x -> x + a)', { columns });
  expect([...columnsOf(expression)].sort()).toEqual([0, 2]);
  expect(isDeterministic(expression)).toBe(true);
  expect(isDeterministic(bind('transform(xs, x -> current_date())', { columns }))).toBe(false);
  expect(isDeterministic(bind('current_timestamp'))).toBe(false);
});

test('the clock is the frame, not the machine', () => {
  const setting = { nowMicros: 1_582_983_956_000_000n };
  expect(evaluate('current_timestamp()', setting)).toBe(1_582_983_956_000_000n);
  expect(evaluate('current_date', { ...setting, timeZone: 'Pacific/Auckland' })).toBe(18_322);
  expect(evaluate('current_date', setting)).toBe(18_321);
});

test('the text of an expression shows every coercion and no place', () => {
  const text = expressionText(bind("a + 1L < '7'", { columns }));
  expect(text).toBe(
    '<(bigint)[add(bigint,bigint)[cast(int,bigint)[#0:int]:bigint, "1":bigint]:bigint, cast(string,bigint)["7":string]:bigint]:boolean'.replace(
      '"1":bigint',
      '1:bigint',
    ),
  );
  expect(expressionText(bind('a   +   b', { columns }))).toBe(
    expressionText(bind('a + b', { columns })),
  );
});

test('literals of different types or values have different texts', () => {
  const texts = [
    "'null'",
    'NULL',
    '1',
    '1L',
    '1.0',
    '1.00',
    '-0.0D',
    '0.0D',
    "'1'",
    "DATE'1970-01-02'",
  ].map((sql) => expressionText(bind(sql)));
  expect(new Set(texts).size).toBe(texts.length);
});
