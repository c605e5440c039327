import { expect, test } from 'vitest';
import { FaultError } from '../../../src/base/place.ts';
import { functionNames } from '../../../src/expr/function-registry.ts';
import { isSparkFunction } from '../../../src/expr/spark-functions.ts';
import { bind, evaluate } from './evaluate.ts';

function faultOf(sql: string): unknown {
  try {
    bind(sql, { columns: [{ name: 'day', type: { kind: 'date' } }] });
  } catch (error) {
    if (error instanceof FaultError) return error.fault;
    throw error;
  }
  return undefined;
}

test('a name that is nearly a function gets the function as a hint', () => {
  expect(faultOf('1 + uper(2)')).toMatchObject({
    code: 'UNRESOLVED_ROUTINE',
    hint: expect.stringContaining('upper'),
    place: { column: 5 },
  });
});

test('a function of Spark that is missing here is refused by its name', () => {
  expect(faultOf('from_avro(1)')).toMatchObject({
    code: 'NOT_SUPPORTED',
    message: expect.stringContaining('from_avro'),
  });
});

test('a wrong number of arguments says how many there may be', () => {
  expect(faultOf('upper()')).toMatchObject({
    code: 'WRONG_NUM_ARGS.WITHOUT_SUGGESTION',
    message: 'upper takes 1 argument, not 0',
  });
});

test('a field that is missing gets a hint, and its own place', () => {
  expect(faultOf("named_struct('price', 1).prise")).toMatchObject({
    code: 'FIELD_NOT_FOUND',
    hint: 'Did you mean price?',
  });
});

test.each([
  ['x -> x', 'INVALID_LAMBDA_FUNCTION_CALL.NON_HIGHER_ORDER_FUNCTION'],
  ['upper(x -> x)', 'INVALID_LAMBDA_FUNCTION_CALL.NON_HIGHER_ORDER_FUNCTION'],
  ['transform(array(1), (a, b, c) -> a)', 'INVALID_LAMBDA_FUNCTION_CALL.NUM_ARGS_MISMATCH'],
  ["'a' COLLATE UNICODE", 'NOT_SUPPORTED'],
  ['CAST(1 AS DECIMAL(39,0))', 'DECIMAL_PRECISION_EXCEEDS_MAX_PRECISION'],
  ['CAST(1 AS DECIMAL(3,4))', 'DECIMAL_SCALE_EXCEEDS_PRECISION'],
  ['CAST(1 AS MONEY)', 'UNSUPPORTED_DATATYPE'],
  ["'a' LIKE 'b' ESCAPE '!!'", 'INVALID_ESC'],
  ["'a' RLIKE '('", 'INVALID_PARAMETER_VALUE.PATTERN'],
  ["date_format(day, 'YYYY')", 'INCONSISTENT_BEHAVIOR_CROSS_VERSION.DATETIME_PATTERN_RECOGNITION'],
])('%s is refused with %s', (sql, code) => {
  expect(faultOf(sql)).toMatchObject({ code });
});

test('a word for a unit is no column there, and a column everywhere else', () => {
  const setting = { columns: [{ name: 'day', type: { kind: 'date' } }] } as const;
  expect(evaluate('dateadd(DAY, 1, day)', setting, [10])).toBe(11n * 86_400_000_000n);
  expect(evaluate('date_add(day, 1)', setting, [10])).toBe(11);
});

test('arguments may be given by name', () => {
  expect(evaluate("mask('aB1', lowerChar => 'q')")).toBe('qXn');
  expect(faultOf("mask('a', lowrChar => 'q')")).toMatchObject({
    code: 'UNRECOGNIZED_PARAMETER_NAME',
    hint: 'Did you mean lowerchar?',
  });
});

test('a minus belongs to the number behind it', () => {
  expect(bind('-2147483648').type).toEqual({ kind: 'int' });
  expect(bind('-9223372036854775808').type).toEqual({ kind: 'bigint' });
  expect(evaluate('-128Y')).toBe(-128);
});

test('every function here is one of Spark, or stands for a part of its grammar', () => {
  const own = ['extract', 'datepart', 'timediff', 'bit_get', 'getbit'];
  const unknown = functionNames().filter((name) => !isSparkFunction(name) && !own.includes(name));
  expect(unknown).toEqual([]);
});
