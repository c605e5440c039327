import type { DataType } from '../../data/types.ts';
import type { Value } from '../../data/value.ts';
import { argumentAt } from '../arguments.ts';
import { call, literal } from '../call.ts';
import { castTo, tightestType } from '../coerce.ts';
import { constantValue, isConstant } from '../compile.ts';
import { murmurBytes } from '../digest/murmur3.ts';
import type { Expression } from '../expression.ts';
import { fault, mismatch } from '../faults.ts';
import { coerceArgument, type FunctionCall, type FunctionDefinition } from '../function.ts';
import { parameter } from '../parameter.ts';
import { decimal, isIntegral, isNumeric, types } from '../types.ts';

/**
 * Draws from a seed, as a single partition of Spark's gives them. Without a seed there is no answer to compare or to
 * compute again, so one is asked for.
 */
export const randomFunctions: readonly FunctionDefinition[] = [
  drawing(['rand', 'random'], (draw) => draw.double()),
  drawing(['randn'], (draw) => draw.gaussian()),
  { names: ['uniform'], arity: [2, 3], bind: uniform },
  { names: ['randstr'], arity: [1, 2], bind: randomText },
  { names: ['monotonically_increasing_id'], arity: [0, 0], bind: countedRows },
];

function drawing(names: readonly string[], draw: (from: Draws) => number): FunctionDefinition {
  return {
    names,
    arity: [0, 1],
    bind: (c) => drawn(c, types.double, seedOf(c, c.arguments[0]), draw),
  };
}

function drawn(
  c: FunctionCall,
  type: DataType,
  seed: bigint,
  draw: (from: Draws) => Value,
): Expression {
  return call(
    {
      name: `${c.name}(${seed})`,
      deterministic: false,
      compile: () => {
        const draws = new Draws(seed);
        return () => draw(draws);
      },
    },
    type,
    [],
    c.place,
  );
}

/** The number of a row among those of the query, from 0 on. */
function countedRows(c: FunctionCall): Expression {
  const operation = {
    name: c.name,
    deterministic: false,
    compile: () => {
      let next = 0n;
      return () => {
        next += 1n;
        return next - 1n;
      };
    },
  };
  return call(operation, types.bigint, [], c.place);
}

function seedOf(c: FunctionCall, written: Expression | undefined): bigint {
  if (written === undefined) {
    throw fault(
      'NOT_SUPPORTED',
      `${c.name} without a seed is not supported`,
      c.place,
      'Give it a seed: what is drawn can then be computed again.',
    );
  }
  if (!isConstant(written)) {
    throw mismatch('NON_FOLDABLE_INPUT', `the seed of ${c.name} must be constant`, written.place);
  }
  const { kind } = written.type;
  if (!isIntegral(written.type) && kind !== 'void') {
    throw mismatch(
      'UNEXPECTED_INPUT_TYPE',
      `the seed of ${c.name} is an int or bigint`,
      written.place,
    );
  }
  const seed = constantValue(coerceArgument(c.name, written, 0, parameter.bigint), c.timeZone);
  return typeof seed === 'bigint' ? seed : 0n;
}

/** Between two constants, in the type that holds both. */
function uniform(c: FunctionCall): Expression {
  const [least, most] = [0, 1].map((index) => {
    const bound = argumentAt(c, index);
    if (!isConstant(bound)) {
      throw mismatch('NON_FOLDABLE_INPUT', 'the bounds of uniform must be constant', bound.place);
    }
    if (!isNumeric(bound.type) && bound.type.kind !== 'void') {
      throw mismatch('UNEXPECTED_INPUT_TYPE', 'the bounds of uniform are numbers', bound.place);
    }
    return coerceArgument(c.name, bound, index, parameter.numeric);
  });
  if (least === undefined || most === undefined) throw new TypeError('uniform has two bounds');
  const type = uniformType(least.type, most.type);
  const numberOf = (bound: Expression): number | null =>
    constantValue(castTo(bound, types.double), c.timeZone) as number | null;
  const [from, to] = [numberOf(least), numberOf(most)];
  const seed = seedOf(c, c.arguments[2]);
  if (from === null || to === null) return literal(null, type, c.place);
  const double = drawn(c, types.double, seed, (draws) => from + (to - from) * draws.double());
  return isIntegral(type) || type.kind === 'decimal' || type.kind === 'float'
    ? castTo(double, type)
    : double;
}

/** Of whole numbers the wider type, with a float or double that, and with a decimal its own. */
function uniformType(a: DataType, b: DataType): DataType {
  const kinds = [a.kind, b.kind];
  if (kinds.includes('double')) return types.double;
  if (kinds.includes('float')) return types.float;
  if (a.kind === 'decimal' || b.kind === 'decimal') {
    if (a.kind === 'decimal' && b.kind === 'decimal') {
      const scale = Math.max(a.scale, b.scale);
      const whole = Math.max(a.precision - a.scale, b.precision - b.scale);
      return decimal(Math.min(whole + scale, 38), scale);
    }
    return a.kind === 'decimal' ? a : b;
  }
  return tightestType(a, b) ?? types.double;
}

const letters = '0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ';

function randomText(c: FunctionCall): Expression {
  const written = argumentAt(c, 0);
  if (!isConstant(written)) {
    throw mismatch('NON_FOLDABLE_INPUT', 'the length of randstr must be constant', written.place);
  }
  const length = constantValue(coerceArgument(c.name, written, 0, parameter.int), c.timeZone);
  if (typeof length === 'number' && length < 0) {
    throw mismatch('VALUE_OUT_OF_RANGE', 'the length of randstr is 0 or more', written.place);
  }
  return drawn(c, types.string, seedOf(c, c.arguments[1]), (draws) =>
    Array.from(
      { length: Number(length ?? 0) },
      () => letters[Math.abs(draws.int() % letters.length)] ?? '',
    ).join(''),
  );
}

const arraySeed = 0x3c074a61;

/** Spark's XORShiftRandom behind the methods of Java's Random. */
class Draws {
  #seed: bigint;
  #next: number | undefined;

  constructor(seed: bigint) {
    const bytes = Buffer.alloc(8);
    bytes.writeBigInt64BE(BigInt.asIntN(64, seed));
    const low = murmurBytes(bytes, arraySeed);
    const high = murmurBytes(bytes, low);
    this.#seed = BigInt.asIntN(64, (BigInt(high) << 32n) | BigInt.asUintN(32, BigInt(low)));
  }

  #bits(count: number): number {
    let seed = this.#seed ^ BigInt.asIntN(64, this.#seed << 21n);
    seed ^= BigInt.asUintN(64, seed) >> 35n;
    seed ^= BigInt.asIntN(64, seed << 4n);
    this.#seed = BigInt.asIntN(64, seed);
    return Number(BigInt.asIntN(32, BigInt.asUintN(count, this.#seed)));
  }

  int(): number {
    return this.#bits(32);
  }

  double(): number {
    const high = this.#bits(26) * 2 ** 27;
    return (high + this.#bits(27)) / 2 ** 53;
  }

  /** The polar method, which gives two at a time. */
  gaussian(): number {
    const known = this.#next;
    this.#next = undefined;
    if (known !== undefined) return known;
    for (;;) {
      const [a, b] = [2 * this.double() - 1, 2 * this.double() - 1];
      const square = a * a + b * b;
      if (square >= 1 || square === 0) continue;
      const factor = Math.sqrt((-2 * Math.log(square)) / square);
      this.#next = b * factor;
      return a * factor;
    }
  }
}
