import type { Place } from '../../base/place.ts';
import { formatType } from '../../data/type-text.ts';
import { type StrictFunction, strictCall } from '../call.ts';
import { castTo } from '../coerce.ts';
import type { Expression } from '../expression.ts';
import { mismatch } from '../faults.ts';
import { parameter } from '../parameter.ts';
import { isIntegral, types } from '../types.ts';
import { arithmeticPair, refuseFloatDecimal, requireSame, wrongType } from './operand.ts';

/** Bits of integers, in two's complement of the type's width. */
export function bitwise(
  operator: '&' | '|' | '^',
  left: Expression,
  right: Expression,
  place: Place,
): Expression {
  refuseFloatDecimal(operator, [left, right], place);
  let [a, b] = arithmeticPair(left, right, isIntegral);
  if (a.type.kind === 'void' && b.type.kind === 'void') {
    [a, b] = [castTo(a, types.bigint), castTo(b, types.bigint)];
  }
  requireSame(operator, [a, b], place);
  if (!isIntegral(a.type)) throw wrongType(operator, a, place);
  return strictCall({
    name: `${operator}(${formatType(a.type)})`,
    type: a.type,
    arguments: [a, b],
    place,
    prepare: () => (a.type.kind === 'bigint' ? bigintBits[operator] : intBits[operator]),
  });
}

const intBits: Readonly<Record<'&' | '|' | '^', StrictFunction>> = {
  '&': (a: number, b: number) => a & b,
  '|': (a: number, b: number) => a | b,
  '^': (a: number, b: number) => a ^ b,
};

const bigintBits: Readonly<Record<'&' | '|' | '^', StrictFunction>> = {
  '&': (a: bigint, b: bigint) => a & b,
  '|': (a: bigint, b: bigint) => a | b,
  '^': (a: bigint, b: bigint) => a ^ b,
};

export function bitwiseNot(value: Expression, place: Place): Expression {
  const operand = value.type.kind === 'void' ? castTo(value, types.bigint) : value;
  if (!isIntegral(operand.type)) {
    throw mismatch(
      'UNEXPECTED_INPUT_TYPE',
      `~ needs an integer, not ${formatType(value.type)}`,
      value.place,
    );
  }
  return strictCall({
    name: `~(${operand.type.kind})`,
    type: operand.type,
    arguments: [operand],
    place,
    prepare: () => (operand.type.kind === 'bigint' ? (a: bigint) => ~a : (a: number) => ~a),
  });
}

/** Shifts of int and bigint; the distance counts modulo the width, as in Java. */
export function shift(
  operator: '<<' | '>>' | '>>>',
  left: Expression,
  right: Expression,
  place: Place,
): Expression {
  const isBig = left.type.kind === 'bigint';
  const value = isBig ? left : parameter.int.coerce(left);
  const distance = parameter.int.coerce(right);
  if (value === undefined || distance === undefined) {
    const wrong = value === undefined ? left : right;
    throw mismatch(
      'UNEXPECTED_INPUT_TYPE',
      `${operator} needs integers, not ${formatType(wrong.type)}`,
      wrong.place,
    );
  }
  return strictCall({
    name: `${operator}(${value.type.kind})`,
    type: value.type,
    arguments: [value, distance],
    place,
    prepare: () => (isBig ? bigintShifts[operator] : intShifts[operator]),
  });
}

const intShifts: Readonly<Record<'<<' | '>>' | '>>>', StrictFunction>> = {
  '<<': (a: number, n: number) => a << n,
  '>>': (a: number, n: number) => a >> n,
  '>>>': (a: number, n: number) => (a >>> n) | 0,
};

const bigintShifts: Readonly<Record<'<<' | '>>' | '>>>', StrictFunction>> = {
  '<<': (a: bigint, n: number) => BigInt.asIntN(64, a << BigInt(n & 63)),
  '>>': (a: bigint, n: number) => a >> BigInt(n & 63),
  '>>>': (a: bigint, n: number) => BigInt.asIntN(64, BigInt.asUintN(64, a) >> BigInt(n & 63)),
};
