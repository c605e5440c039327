import { parseDecimal, powerOfTen } from '../../data/decimal.ts';
import { formatType } from '../../data/type-text.ts';
import type { DataType } from '../../data/types.ts';
import type { Value } from '../../data/value.ts';
import { argumentAt } from '../arguments.ts';
import { call, located, strictCall } from '../call.ts';
import { constantValue, isConstant } from '../compile.ts';
import {
  type DecimalPattern,
  type Exact,
  placesPattern,
  printDecimal,
  printNonFinite,
  readDecimalPattern,
} from '../decimal-pattern.ts';
import type { Expression, Operation } from '../expression.ts';
import { ExpressionError } from '../expression-error.ts';
import { fault } from '../faults.ts';
import { coerceArgument, type FunctionCall, type FunctionDefinition } from '../function.ts';
import { javaFormat } from '../java-format.ts';
import { exactly, oneOf, parameter } from '../parameter.ts';
import { types } from '../types.ts';

/** Numbers as text in forms of the writer's choice. */
export const numberFormatFunctions: readonly FunctionDefinition[] = [
  { names: ['format_number'], arity: [2, 2], bind: formatNumber },
  { names: ['format_string', 'printf'], arity: [1, Infinity], bind: formatString },
];

/** Digits in groups of three; the second argument is the number of places, or a pattern like `#,##0.00`. */
function formatNumber(c: FunctionCall): Expression {
  const value = coerceArgument(c.name, argumentAt(c, 0), 0, exactly(parameter.numeric));
  const written = argumentAt(c, 1);
  const form = coerceArgument(
    c.name,
    written,
    1,
    oneOf<Value>([exactly(parameter.int), exactly(parameter.string)]),
  );
  const exact = exactOf(value.type);
  return strictCall({
    name: `format_number(${formatType(value.type)},${formatType(form.type)})`,
    type: types.string,
    arguments: [value, form],
    place: c.place,
    prepare: () => (number: number | bigint, places: number | string) => {
      const pattern = patternOf(places);
      if (pattern === undefined) return null;
      return typeof number === 'number' && !Number.isFinite(number)
        ? printNonFinite(number, pattern)
        : printDecimal(exact(number), pattern);
    },
  });
}

function patternOf(places: number | string): DecimalPattern | undefined {
  if (typeof places === 'number') return places < 0 ? undefined : placesPattern(places);
  if (places === '') return placesPattern(0);
  const pattern = readDecimalPattern(places);
  if (pattern !== undefined) return pattern;
  throw new ExpressionError(
    'INVALID_PARAMETER_VALUE.PATTERN',
    `'${places.slice(0, 60)}' is no pattern for numbers`,
  );
}

/** The exact value; of a double all of its binary digits, so that halves are what they are. */
function exactOf(type: DataType): (value: number | bigint) => Exact {
  if (type.kind === 'decimal') return (value) => ({ unscaled: BigInt(value), scale: type.scale });
  if (type.kind === 'float' || type.kind === 'double') return (value) => exactDouble(Number(value));
  return (value) => ({ unscaled: BigInt(value), scale: 0 });
}

function exactDouble(value: number): Exact {
  if (Number.isSafeInteger(value)) {
    return { unscaled: BigInt(value), scale: 0, isNegative: Object.is(value, -0) };
  }
  // The digits of Java are those that tell the double from its neighbours.
  const parsed = parseDecimal(String(value)) ?? { unscaled: 0n, scale: 0 };
  const scale = Math.max(parsed.scale, 0);
  return { unscaled: parsed.unscaled * powerOfTen(scale - parsed.scale), scale };
}

/** Arguments count from 1; a constant format that says 0 is refused when the query is checked. */
function requireIndexes(c: FunctionCall, format: Expression): void {
  const text = isConstant(format) ? constantValue(format, c.timeZone) : null;
  if (typeof text !== 'string' || !text.includes('%0$')) return;
  throw fault(
    'INVALID_PARAMETER_VALUE.ZERO_INDEX',
    `arguments of ${c.name} count from %1$`,
    format.place,
  );
}

/** NULL arguments are printed as `null`. */
function formatString(c: FunctionCall): Expression {
  const format = coerceArgument(c.name, argumentAt(c, 0), 0, parameter.string);
  requireIndexes(c, format);
  const args = c.arguments.slice(1);
  const argumentTypes = args.map((e) => e.type);
  const operation: Operation = {
    name: `format_string(${argumentTypes.map(formatType).join(',')})`,
    deterministic: true,
    compile: ([pattern = () => null, ...rest], context) => {
      return (row, frame) => {
        const text = pattern(row, frame);
        if (text === null) return null;
        try {
          return javaFormat(
            text as string,
            rest.map((arg, i) => ({
              value: arg(row, frame),
              type: argumentTypes[i] ?? types.void,
            })),
          );
        } catch (error) {
          throw located(error, context.place);
        }
      };
    },
  };
  return call(operation, types.string, [format, ...args], c.place);
}
