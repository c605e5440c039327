import type { Place } from '../../base/place.ts';
import { decimalPrecisionMax } from '../../data/decimal.ts';
import { formatType } from '../../data/type-text.ts';
import type { DataType } from '../../data/types.ts';
import type { CalendarInterval } from '../../data/value.ts';
import { call, located, strictCall } from '../call.ts';
import { castTo } from '../coerce.ts';
import type { Evaluator, Expression, Operation } from '../expression.ts';
import { ExpressionError } from '../expression-error.ts';
import { mismatch } from '../faults.ts';
import { type DecimalType, decimal, isIntegral, isNumeric, types } from '../types.ts';
import { type Kernel, kernelOf, negateDecimal, overflow } from './arithmetic-kernels.ts';
import { datetimeArithmetic } from './interval-arithmetic.ts';
import {
  arithmeticPair,
  promoteStrings,
  refuseFloatDecimal,
  requireSame,
  wrongType,
} from './operand.ts';

export type ArithmeticOperator = '+' | '-' | '*' | '/' | '%' | 'div' | 'pmod';

/** `try`: what would be an error of this one operation is NULL; errors of its operands stay errors. */
export type EvaluationMode = 'ansi' | 'try';

/**
 * Numbers, and dates, timestamps and intervals where the operator knows them. Invariant: the result
 * is exact or an error; an overflow never wraps.
 */
export function arithmetic(
  operator: ArithmeticOperator,
  left: Expression,
  right: Expression,
  options: { readonly place: Place; readonly mode?: EvaluationMode },
): Expression {
  const mode = options.mode ?? 'ansi';
  const { place } = options;
  const special = datetimeArithmetic(operator, left, right, { place, mode });
  if (special !== undefined) return special;
  const [promotedLeft, promotedRight] = promoteStrings(left, right);
  if (promotedLeft !== left || promotedRight !== right) {
    const promoted = datetimeArithmetic(operator, promotedLeft, promotedRight, { place, mode });
    if (promoted !== undefined) return promoted;
  }
  return numeric(operator, promotedLeft, promotedRight, { place, mode });
}

function numeric(
  operator: ArithmeticOperator,
  left: Expression,
  right: Expression,
  options: { readonly place: Place; readonly mode: EvaluationMode },
): Expression {
  const { place, mode } = options;
  if (operator === 'div') refuseFloatDecimal(operator, [left, right], place);
  let [a, b] = operands(operator, left, right);
  if (a.type.kind === 'void' && b.type.kind === 'void') {
    const type = operator === 'div' ? types.bigint : types.double;
    [a, b] = [castTo(a, type), castTo(b, type)];
  }
  if (!(a.type.kind === 'decimal' && b.type.kind === 'decimal')) {
    requireSame(operator, [a, b], place);
  }
  if (!accepts(operator, a.type)) throw wrongType(operator, a, place);
  const type = resultType(operator, a.type, b.type);
  return kernelCall(operator, [a, b], { type, place, mode });
}

function operands(
  operator: ArithmeticOperator,
  left: Expression,
  right: Expression,
): readonly [Expression, Expression] {
  if (operator === '/') return divisionOperands(left, right);
  if (operator === 'div') {
    const [a, b] = arithmeticPair(left, right, (type) => accepts('div', type));
    return [longer(a), longer(b)];
  }
  return arithmeticPair(left, right, isNumeric);
}

/** Division is of doubles, unless both sides are decimals. */
function divisionOperands(left: Expression, right: Expression): readonly [Expression, Expression] {
  const [a, b] = arithmeticPair(left, right, isNumeric);
  if (a.type.kind === 'decimal' && b.type.kind === 'decimal') return [a, b];
  const isDivisible = (type: DataType) => isNumeric(type) || type.kind === 'void';
  if (isDivisible(a.type) && isDivisible(b.type)) {
    return [castTo(a, types.double), castTo(b, types.double)];
  }
  return [a, b];
}

function longer(e: Expression): Expression {
  return isIntegral(e.type) ? castTo(e, types.bigint) : e;
}

function accepts(operator: ArithmeticOperator, type: DataType): boolean {
  if (operator === 'div') return isIntegral(type) || type.kind === 'decimal';
  return isNumeric(type);
}

function resultType(operator: ArithmeticOperator, a: DataType, b: DataType): DataType {
  if (operator === 'div') return types.bigint;
  if (a.kind !== 'decimal' || b.kind !== 'decimal') return a;
  return decimalResult(operator, a, b);
}

/** Precision and scale of a result; beyond 38 digits the fraction gives way, down to six places. */
export function decimalResult(
  operator: ArithmeticOperator,
  a: DecimalType,
  b: DecimalType,
): DecimalType {
  const [p1, s1, p2, s2] = [a.precision, a.scale, b.precision, b.scale];
  switch (operator) {
    case '+':
    case '-': {
      const scale = Math.max(s1, s2);
      return adjusted(Math.max(p1 - s1, p2 - s2) + scale + 1, scale);
    }
    case '*':
      return adjusted(p1 + p2 + 1, s1 + s2);
    case '/': {
      const scale = Math.max(6, s1 + p2 + 1);
      return adjusted(p1 - s1 + s2 + scale, scale);
    }
    default: {
      const scale = Math.max(s1, s2);
      return adjusted(Math.min(p1 - s1, p2 - s2) + scale, scale);
    }
  }
}

function adjusted(precision: number, scale: number): DecimalType {
  if (precision <= decimalPrecisionMax) return decimal(precision, scale);
  const least = Math.min(scale, 6);
  return decimal(decimalPrecisionMax, Math.max(decimalPrecisionMax - (precision - scale), least));
}

function kernelCall(
  operator: ArithmeticOperator,
  args: readonly [Expression, Expression],
  options: { readonly type: DataType; readonly place: Place; readonly mode: EvaluationMode },
): Expression {
  const [a, b] = args;
  const kernel = kernelOf(operator, a.type, b.type, options.type);
  const isTry = options.mode === 'try';
  const name = `${isTry ? 'try_' : ''}${operatorNames[operator]}`;
  const divides = operator === '/' || operator === '%' || operator === 'div' || operator === 'pmod';
  const operation: Operation = {
    name: `${name}(${formatType(a.type)},${formatType(b.type)})`,
    deterministic: true,
    strict: true,
    compile: ([left, right], context) => {
      const [first, second] = divides ? [right, left] : [left, right];
      if (first === undefined || second === undefined) return () => null;
      const ordered: Kernel = divides ? (x, y) => kernel(y, x) : kernel;
      return isTry
        ? tryKernel(first, second, ordered, divides)
        : strictKernel(first, second, ordered, context.place);
    },
  };
  return call(operation, options.type, args, options.place);
}

const operatorNames: Record<ArithmeticOperator, string> = {
  '+': 'add',
  '-': 'subtract',
  '*': 'multiply',
  '/': 'divide',
  '%': 'mod',
  div: 'div',
  pmod: 'pmod',
};

/** The divisor is evaluated first, as Spark does. */
function strictKernel(
  first: Evaluator,
  second: Evaluator,
  kernel: Kernel,
  place: Place,
): Evaluator {
  return (row, frame) => {
    const a = first(row, frame);
    if (a === null) return null;
    const b = second(row, frame);
    if (b === null) return null;
    try {
      return kernel(a as never, b as never);
    } catch (error) {
      throw located(error, place);
    }
  };
}

/** Where it divides, nothing is evaluated behind a divisor of zero. */
function tryKernel(
  first: Evaluator,
  second: Evaluator,
  kernel: Kernel,
  divides: boolean,
): Evaluator {
  return (row, frame) => {
    const a = first(row, frame);
    if (a === null || (divides && (a === 0 || a === 0n))) return null;
    const b = second(row, frame);
    if (b === null) return null;
    try {
      return kernel(a as never, b as never);
    } catch (error) {
      if (error instanceof ExpressionError) return null;
      throw error;
    }
  };
}

function negatedInterval(operand: Expression, place: Place): Expression {
  return strictCall({
    name: 'negate(interval)',
    type: operand.type,
    arguments: [operand],
    place,
    prepare: () => (interval: CalendarInterval) => {
      const [months, days, micros] = [-interval.months, -interval.days, -interval.micros];
      if (months > 2_147_483_647 || days > 2_147_483_647 || micros >= 1n << 63n) {
        throw overflow(operand.type);
      }
      return { months: months + 0, days: days + 0, micros };
    },
  });
}

/** `-e` and `+e`. */
export function negate(value: Expression, place: Place): Expression {
  const operand = unaryOperand('-', value);
  if (operand.type.kind === 'interval') return negatedInterval(operand, place);
  const kernel = kernelOf('-', operand.type, operand.type, operand.type);
  const zero = zeroOf(operand.type);
  const operation: Operation = {
    name: `negate(${formatType(operand.type)})`,
    deterministic: true,
    compile: ([arg = () => null], context) => {
      if (operand.type.kind === 'float' || operand.type.kind === 'double') {
        return (row, frame) => {
          const v = arg(row, frame);
          return v === null ? null : -(v as number);
        };
      }
      if (operand.type.kind === 'decimal') {
        const { type } = operand;
        return (row, frame) => {
          const v = arg(row, frame);
          if (v === null) return null;
          try {
            return negateDecimal(v as bigint, type);
          } catch (error) {
            throw located(error, context.place);
          }
        };
      }
      return (row, frame) => {
        const v = arg(row, frame);
        if (v === null) return null;
        try {
          return kernel(zero as never, v as never);
        } catch {
          throw new ExpressionError(
            'ARITHMETIC_OVERFLOW',
            `the negative of this value does not fit ${formatType(operand.type)}`,
            context.place,
          );
        }
      };
    },
  };
  return call(operation, operand.type, [operand], place);
}

function zeroOf(type: DataType): number | bigint {
  switch (type.kind) {
    case 'bigint':
    case 'decimal':
    case 'interval_day_time':
      return 0n;
    default:
      return 0;
  }
}

/** The operand of a unary operator: numbers and intervals; strings and NULL are doubles. */
export function unaryOperand(operator: string, value: Expression): Expression {
  const { kind } = value.type;
  if (kind === 'string' || kind === 'void') return castTo(value, types.double);
  if (
    isNumeric(value.type) ||
    kind === 'interval_day_time' ||
    kind === 'interval_year_month' ||
    kind === 'interval'
  ) {
    return value;
  }
  throw mismatch(
    'UNEXPECTED_INPUT_TYPE',
    `${operator} needs a number or an interval, not ${formatType(value.type)}`,
    value.place,
  );
}
