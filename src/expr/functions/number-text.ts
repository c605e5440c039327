import { formatType } from '../../data/type-text.ts';
import type { DataType } from '../../data/types.ts';
import type { Value } from '../../data/value.ts';
import { argumentAt } from '../arguments.ts';
import { literal, strictCall } from '../call.ts';
import { castTo } from '../coerce.ts';
import { constantValue, isConstant } from '../compile.ts';
import type { Expression } from '../expression.ts';
import { ExpressionError } from '../expression-error.ts';
import { fault, mismatch } from '../faults.ts';
import { coerceArgument, type FunctionCall, type FunctionDefinition } from '../function.ts';
import {
  type NumberPattern,
  parseByPattern,
  printByPattern,
  readNumberPattern,
} from '../number-pattern.ts';
import { nullOnError } from '../operators/interval-arithmetic.ts';
import { decimalParameter, parameter } from '../parameter.ts';
import { decimal, isDatetime, types } from '../types.ts';
import { dateFormat } from './datetime-format.ts';

/** Numbers read and written by patterns such as `$9,999.00`. */
export const numberTextFunctions: readonly FunctionDefinition[] = [
  { names: ['to_number'], arity: [2, 2], bind: toNumber },
  { names: ['try_to_number'], arity: [2, 2], bind: tryToNumber },
  { names: ['to_char', 'to_varchar'], arity: [2, 2], bind: toChar },
];

/** The pattern decides on the type of the result, so it must be constant. */
function patternOf(c: FunctionCall): NumberPattern | undefined {
  const argument = coerceArgument(c.name, argumentAt(c, 1), 1, parameter.string);
  if (!isConstant(argument)) {
    throw mismatch(
      'NON_FOLDABLE_INPUT',
      `the pattern of ${c.name} must be constant`,
      argument.place,
    );
  }
  const text = constantValue(argument, c.timeZone);
  if (typeof text !== 'string') return undefined;
  const pattern = readNumberPattern(text);
  if (pattern !== undefined) return pattern;
  throw fault(refusalOf(text), `'${text}' is no pattern for numbers`, argument.place);
}

/** Spark's class for what is wrong with a pattern. */
function refusalOf(pattern: string): string {
  if (pattern === '') return 'INVALID_FORMAT.EMPTY';
  if (!/[09,G]/i.test(pattern)) return 'INVALID_FORMAT.WRONG_NUM_DIGIT';
  if (/^[^$]*[90,G][^$]*\$/i.test(pattern)) return 'INVALID_FORMAT.CUR_MUST_BEFORE_DIGIT';
  if (/^[^$]*[.D][^$]*\$/i.test(pattern)) return 'INVALID_FORMAT.CUR_MUST_BEFORE_DEC';
  const separators = [...pattern.matchAll(/(.?)[,G](.?)/giu)];
  if (
    separators.some(([, before, after]) => !/[09]/.test(before ?? '') || !/[09]/.test(after ?? ''))
  ) {
    return 'INVALID_FORMAT.CONT_THOUSANDS_SEPS';
  }
  if (/[.D].*[,G]/isu.test(pattern)) return 'INVALID_FORMAT.THOUSANDS_SEPS_MUST_BEFORE_DEC';
  const counted = [/[.D]/gi, /\$/g, /S/gi, /MI/gi, /PR/gi];
  const isDouble = counted.some((token) => (pattern.match(token)?.length ?? 0) > 1);
  return isDouble ? 'INVALID_FORMAT.WRONG_NUM_TOKEN' : 'INVALID_FORMAT.UNEXPECTED_TOKEN';
}

/** Without a pattern it is NULL of a type of its own. */
function tryToNumber(c: FunctionCall): Expression {
  const pattern = argumentAt(c, 1);
  const isNull = isConstant(pattern) && constantValue(pattern, c.timeZone) === null;
  return isNull ? literal(null, decimal(10, 0), c.place) : nullOnError(toNumber(c));
}

function toNumber(c: FunctionCall): Expression {
  const text = coerceArgument(c.name, argumentAt(c, 0), 0, parameter.string);
  const pattern = patternOf(c);
  if (pattern === undefined) return castTo(text, decimal(38, 18));
  const type = decimal(pattern.wholeDigits + pattern.fractionDigits, pattern.fractionDigits);
  return strictCall({
    name: `${c.name}(${JSON.stringify(pattern)})`,
    type,
    arguments: [text],
    place: c.place,
    prepare: () => (value: string) => {
      const number = parseByPattern(value, pattern);
      if (number === undefined) {
        throw new ExpressionError(
          'INVALID_FORMAT.MISMATCH_INPUT',
          `the text '${value.slice(0, 60)}' does not fit the pattern of ${c.name}`,
        );
      }
      return number;
    },
  });
}

/** Dates and timestamps by a date pattern, binary by the name of an encoding, numbers by a number pattern. */
function toChar(c: FunctionCall): Expression {
  const value = argumentAt(c, 0);
  if (isDatetime(value.type)) return dateFormat(c);
  if (value.type.kind === 'binary') return binaryText(c, value);
  const number = coerceArgument(c.name, value, 0, decimalParameter);
  const pattern = patternOf(c);
  const scale = scaleOf(number.type);
  return strictCall({
    name: `${c.name}(${JSON.stringify(pattern)},${formatType(number.type)})`,
    type: types.string,
    arguments: [number],
    place: c.place,
    prepare:
      () =>
      (unscaled: bigint): Value =>
        pattern === undefined ? null : printByPattern(unscaled, scale, pattern),
  });
}

function scaleOf(type: DataType): number {
  return type.kind === 'decimal' ? type.scale : 0;
}

function binaryText(c: FunctionCall, value: Expression): Expression {
  const format = coerceArgument(c.name, argumentAt(c, 1), 1, parameter.string);
  return strictCall({
    name: `${c.name}(binary)`,
    type: types.string,
    arguments: [value, format],
    place: c.place,
    prepare: () => (bytes: Uint8Array, encoding: string) => {
      const buffer = Buffer.from(bytes);
      switch (encoding.toLowerCase()) {
        case 'base64':
          return buffer.toString('base64');
        case 'hex':
          return buffer.toString('hex').toUpperCase();
        case 'utf-8':
          return buffer.toString('utf8');
        default:
          throw new ExpressionError(
            'INVALID_PARAMETER_VALUE.BINARY_FORMAT',
            `${c.name} knows hex, utf-8 and base64, not '${encoding}'`,
          );
      }
    },
  });
}
