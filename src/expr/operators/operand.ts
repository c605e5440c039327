import type { Place } from '../../base/place.ts';
import { formatType, sameType } from '../../data/type-text.ts';
import type { DataType } from '../../data/types.ts';
import { castTo, promotedString, tightestType, widerDecimal } from '../coerce.ts';
import type { Expression } from '../expression.ts';
import { mismatch } from '../faults.ts';
import { parameter } from '../parameter.ts';
import { decimal, decimalOf, isIntegral, types } from '../types.ts';

type Pair = readonly [Expression, Expression];

/** One operand that must be a boolean; strings are read as booleans. */
export function booleanOperand(
  operator: string,
  value: Expression,
  refusal = 'UNEXPECTED_INPUT_TYPE',
): Expression {
  const coerced = parameter.boolean.coerce(value);
  if (coerced === undefined) {
    throw mismatch(
      refusal,
      `${operator} needs a boolean, not ${formatType(value.type)}`,
      value.place,
    );
  }
  return coerced;
}

export function booleanPair(
  operator: string,
  left: Expression,
  right: Expression,
  place: Place,
): Pair {
  let [a, b] = promoteStrings(left, right);
  if (a.type.kind === 'void') a = castTo(a, types.boolean);
  if (b.type.kind === 'void') b = castTo(b, types.boolean);
  // Beside a double a decimal becomes a double, which is no boolean either.
  const isMixed =
    (a.type.kind === 'decimal' && b.type.kind === 'double') ||
    (b.type.kind === 'decimal' && a.type.kind === 'double');
  if (!isMixed) requireSame(operator, [a, b], place);
  if (a.type.kind !== 'boolean') throw wrongType(operator, a, place);
  return [a, b];
}

/** A string beside another type is read as that type; both stay as they are where there is no rule. */
export function promoteStrings(left: Expression, right: Expression): Pair {
  const type = promotedString(left.type, right.type);
  return type === undefined ? [left, right] : [castTo(left, type), castTo(right, type)];
}

/**
 * Operands of arithmetic brought together: decimals keep their own precision and scale (the rules of
 * the operator combine them), all else is cast to the tightest common type.
 */
export function arithmeticPair(
  left: Expression,
  right: Expression,
  accepts: (type: DataType) => boolean,
): Pair {
  const [a, b] = promoteStrings(left, right);
  if (a.type.kind === 'decimal' || b.type.kind === 'decimal') return decimalOperands(a, b);
  const common = tightestType(a.type, b.type);
  if (common === undefined || !accepts(common)) return [a, b];
  return [castTo(a, common), castTo(b, common)];
}

/** Operands of a comparison brought to one type; decimals to the one that holds both. */
export function comparisonPair(left: Expression, right: Expression): Pair {
  const [a, b] = promoteStrings(left, right);
  if (a.type.kind === 'decimal' || b.type.kind === 'decimal') {
    const [x, y] = decimalOperands(a, b);
    if (x.type.kind !== 'decimal' || y.type.kind !== 'decimal') return [x, y];
    const common = widerDecimal(x.type, y.type);
    return [castTo(x, common), castTo(y, common)];
  }
  const common = tightestType(a.type, b.type);
  return common === undefined ? [a, b] : [castTo(a, common), castTo(b, common)];
}

function decimalOperands(a: Expression, b: Expression): Pair {
  if (a.type.kind === 'decimal' && b.type.kind === 'decimal') return [a, b];
  if (a.type.kind === 'void') return [castTo(a, b.type), b];
  if (b.type.kind === 'void') return [a, castTo(b, a.type)];
  if (isFloating(a.type) || isFloating(b.type)) {
    return [castTo(a, types.double), castTo(b, types.double)];
  }
  return [asDecimal(a), asDecimal(b)];
}

function isFloating(type: DataType): boolean {
  return type.kind === 'float' || type.kind === 'double';
}

/** An integer literal takes only the digits that it has, so that `d * 2` does not grow by ten digits. */
function asDecimal(e: Expression): Expression {
  if (!isIntegral(e.type)) return e;
  // Those of a TINYINT count as three whatever they are.
  if (e.node === 'literal' && e.value !== null && e.type.kind !== 'tinyint') {
    const digits = String(e.value).replace('-', '').length;
    return castTo(e, decimal(digits, 0));
  }
  return castTo(e, decimalOf(e.type));
}

/** Operators of whole numbers find nothing that a float and a decimal have in common. */
export function refuseFloatDecimal(operator: string, pair: Pair, place: Place): void {
  const kinds = pair.map(({ type }) => type.kind);
  if (!kinds.includes('float') || !kinds.includes('decimal')) return;
  throw mismatch('BINARY_OP_DIFF_TYPES', `${operator} can't take a float and a decimal`, place);
}

export function requireSame(operator: string, [a, b]: Pair, place: Place): void {
  if (sameType(a.type, b.type)) return;
  throw mismatch(
    'BINARY_OP_DIFF_TYPES',
    `${operator} can't take ${formatType(a.type)} and ${formatType(b.type)} together`,
    place,
  );
}

export function wrongType(operator: string, operand: Expression, place: Place): Error {
  return mismatch(
    'BINARY_OP_WRONG_TYPE',
    `${operator} does not take ${formatType(operand.type)}`,
    place,
  );
}
