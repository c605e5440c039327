import { fitsPrecision, powerOfTen, rescale } from '../../data/decimal.ts';
import { formatType } from '../../data/type-text.ts';
import type { DataType } from '../../data/types.ts';
import type { Value } from '../../data/value.ts';
import { divideHalfUp } from '../divide-half-up.ts';
import { ExpressionError } from '../expression-error.ts';
import type { DecimalType } from '../types.ts';

/** Arithmetic of two values that are not NULL, for one pair of types. */
export type Kernel = (a: never, b: never) => Value;

type Operator = '+' | '-' | '*' | '/' | '%' | 'div' | 'pmod';

/** Picks the kernel by type, once; both operands have one type, or are decimals. */
export function kernelOf(
  operator: Operator,
  left: DataType,
  right: DataType,
  result: DataType,
): Kernel {
  switch (left.kind) {
    case 'tinyint':
      return intKernel(operator, left, -128, 127);
    case 'smallint':
      return intKernel(operator, left, -32_768, 32_767);
    case 'int':
    case 'interval_year_month':
      return intKernel(operator, left, -2_147_483_648, 2_147_483_647);
    case 'bigint':
    case 'interval_day_time':
      return bigintKernel(operator, left);
    case 'float':
      return floatKernel(operator);
    case 'double':
      return doubleKernel(operator);
    case 'decimal':
      if (right.kind !== 'decimal') break;
      if (result.kind === 'decimal') return decimalKernel(operator, left, right, result);
      return decimalQuotient(left, right);
    default:
      break;
  }
  throw new TypeError(`no ${operator} for ${formatType(left)}`);
}

export function divideByZero(): ExpressionError {
  return new ExpressionError('DIVIDE_BY_ZERO', 'division by zero');
}

export function remainderByZero(): ExpressionError {
  return new ExpressionError('REMAINDER_BY_ZERO', 'remainder of a division by zero');
}

export function overflow(type: DataType): ExpressionError {
  switch (type.kind) {
    case 'tinyint':
    case 'smallint':
      return new ExpressionError(
        'BINARY_ARITHMETIC_OVERFLOW',
        `the result does not fit ${type.kind}`,
      );
    case 'interval_day_time':
    case 'interval_year_month':
      return new ExpressionError(
        'INTERVAL_ARITHMETIC_OVERFLOW.WITHOUT_SUGGESTION',
        `the result does not fit ${formatType(type)}`,
      );
    default:
      return new ExpressionError(
        'ARITHMETIC_OVERFLOW',
        `the result does not fit ${formatType(type)}`,
      );
  }
}

export function outOfPrecision(type: DecimalType): ExpressionError {
  return new ExpressionError(
    'NUMERIC_VALUE_OUT_OF_RANGE.WITH_SUGGESTION',
    `the result does not fit ${formatType(type)}`,
  );
}

/** What is raised where a value cannot even be rounded into the type. */
export function outOfDigits(type: DecimalType): ExpressionError {
  return new ExpressionError(
    'NUMERIC_VALUE_OUT_OF_RANGE.WITHOUT_SUGGESTION',
    `the result does not fit ${formatType(type)}`,
  );
}

/**
 * The negative of a decimal. Spark keeps 34 digits of it, rounded half even, and so do we: who compares
 * the two must find the same rows.
 */
export function negateDecimal(unscaled: bigint, type: DecimalType): bigint {
  const digits = String(unscaled < 0n ? -unscaled : unscaled).length;
  if (digits <= negatedDigitsMax) return -unscaled;
  const unit = powerOfTen(digits - negatedDigitsMax);
  const quotient = unscaled / unit;
  const rest = unscaled - quotient * unit;
  const twice = (rest < 0n ? -rest : rest) * 2n;
  const isAway = twice > unit || (twice === unit && quotient % 2n !== 0n);
  const rounded = isAway ? quotient + (unscaled < 0n ? -1n : 1n) : quotient;
  const result = -rounded * unit;
  if (!fitsPrecision(result, type.precision)) throw outOfDigits(type);
  return result;
}

const negatedDigitsMax = 34;

function intKernel(operator: Operator, type: DataType, least: number, most: number): Kernel {
  const checked = (value: number): number => {
    if (value < least || value > most) throw overflow(type);
    return value;
  };
  const number = (f: (a: number, b: number) => number): Kernel => f;
  switch (operator) {
    case '+':
      return number((a, b) => checked(a + b));
    case '-':
      return number((a, b) => checked(a - b));
    case '*':
      // Beyond 2^53 the product is not exact, but then it is out of range anyway. `+ 0` drops a -0.
      return number((a, b) => checked(a * b + 0));
    case '%':
      return number((a, b) => {
        if (b === 0) throw remainderByZero();
        return (a % b) + 0;
      });
    case 'pmod':
      return number((a, b) => {
        if (b === 0) throw remainderByZero();
        const rest = a % b;
        return (rest < 0 ? (rest + b) % b : rest) + 0;
      });
    default:
      throw new TypeError(`no ${operator} of integers below bigint`);
  }
}

const bigintLeast = -(2n ** 63n);
const bigintMost = 2n ** 63n - 1n;

function bigintKernel(operator: Operator, type: DataType): Kernel {
  const checked = (value: bigint): bigint => {
    if (value < bigintLeast || value > bigintMost) throw overflow(type);
    return value;
  };
  const big = (f: (a: bigint, b: bigint) => bigint): Kernel => f;
  switch (operator) {
    case '+':
      return big((a, b) => checked(a + b));
    case '-':
      return big((a, b) => checked(a - b));
    case '*':
      return big((a, b) => checked(a * b));
    case 'div':
      return big((a, b) => {
        if (b === 0n) throw divideByZero();
        return checked(a / b);
      });
    case '%':
      return big((a, b) => {
        if (b === 0n) throw remainderByZero();
        return a % b;
      });
    case 'pmod':
      return big((a, b) => {
        if (b === 0n) throw remainderByZero();
        const rest = a % b;
        return rest < 0n ? (rest + b) % b : rest;
      });
    default:
      throw new TypeError(`no ${operator} of bigint`);
  }
}

function doubleKernel(operator: Operator): Kernel {
  const number = (f: (a: number, b: number) => number): Kernel => f;
  switch (operator) {
    case '+':
      return number((a, b) => a + b);
    case '-':
      return number((a, b) => a - b);
    case '*':
      return number((a, b) => a * b);
    case '/':
      return number((a, b) => {
        if (b === 0) throw divideByZero();
        return a / b;
      });
    case '%':
      return number((a, b) => {
        if (b === 0) throw remainderByZero();
        return a % b;
      });
    case 'pmod':
      return number((a, b) => {
        if (b === 0) throw remainderByZero();
        const rest = a % b;
        return rest < 0 ? (rest + b) % b : rest;
      });
    default:
      throw new TypeError(`no ${operator} of double`);
  }
}

function floatKernel(operator: Operator): Kernel {
  const kernel = doubleKernel(operator) as (a: number, b: number) => number;
  const single: (a: number, b: number) => number = (a, b) => Math.fround(kernel(a, b));
  return single;
}

function decimalKernel(
  operator: Operator,
  left: DecimalType,
  right: DecimalType,
  result: DecimalType,
): Kernel {
  const common = Math.max(left.scale, right.scale);
  const liftLeft = powerOfTen(common - left.scale);
  const liftRight = powerOfTen(common - right.scale);
  const checked = (value: bigint): bigint => {
    if (!fitsPrecision(value, result.precision)) throw outOfPrecision(result);
    return value;
  };
  const big = (f: (a: bigint, b: bigint) => bigint): Kernel => f;
  switch (operator) {
    case '+':
      return big((a, b) => checked(rescale(a * liftLeft + b * liftRight, common, result.scale)));
    case '-':
      return big((a, b) => checked(rescale(a * liftLeft - b * liftRight, common, result.scale)));
    case '*': {
      const scale = left.scale + right.scale;
      return big((a, b) => checked(rescale(a * b, scale, result.scale)));
    }
    case '/':
      return decimalDivision(left, right, result, checked);
    default:
      return decimalRemainder(operator, { liftLeft, liftRight, common }, result, checked);
  }
}

function decimalDivision(
  left: DecimalType,
  right: DecimalType,
  result: DecimalType,
  checked: (value: bigint) => bigint,
): Kernel {
  // a/10^s1 over b/10^s2, to `scale` places: a * 10^(scale + s2 - s1) / b.
  const shift = result.scale + right.scale - left.scale;
  const lift = powerOfTen(Math.max(shift, 0));
  const lower = powerOfTen(Math.max(-shift, 0));
  const divide: (a: bigint, b: bigint) => bigint = (a, b) => {
    if (b === 0n) throw divideByZero();
    return checked(divideHalfUp(a * lift, b * lower));
  };
  return divide;
}

function decimalRemainder(
  operator: Operator,
  scales: { readonly liftLeft: bigint; readonly liftRight: bigint; readonly common: number },
  result: DecimalType,
  checked: (value: bigint) => bigint,
): Kernel {
  const isPositive = operator === 'pmod';
  const remainder: (a: bigint, b: bigint) => bigint = (a, b) => {
    if (b === 0n) throw remainderByZero();
    const divisor = b * scales.liftRight;
    let rest = (a * scales.liftLeft) % divisor;
    if (isPositive && rest < 0n) rest = (rest + divisor) % divisor;
    return checked(rescale(rest, scales.common, result.scale));
  };
  return remainder;
}

/** `div` of decimals: the whole part as a bigint; what does not fit wraps, as Spark's does. */
function decimalQuotient(left: DecimalType, right: DecimalType): Kernel {
  const common = Math.max(left.scale, right.scale);
  const liftLeft = powerOfTen(common - left.scale);
  const liftRight = powerOfTen(common - right.scale);
  const quotient: (a: bigint, b: bigint) => bigint = (a, b) => {
    if (b === 0n) throw divideByZero();
    return BigInt.asIntN(64, (a * liftLeft) / (b * liftRight));
  };
  return quotient;
}
