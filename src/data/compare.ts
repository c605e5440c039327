import { FlowError } from '../base/errors.ts';
import { formatType } from './type-text.ts';
import type { DataType } from './types.ts';
import type { Value } from './value.ts';

/** Below 0: the first comes first; 0: both are equal for keys, sequences and grouping. */
export type Comparator = (left: Value, right: Value) => number;

/**
 * Spark's total order over the values of one type: NULL first, false before true, NaN above every
 * number, -0.0 equal to 0.0, text by its UTF-8 bytes, binary by unsigned bytes, arrays and structs
 * part by part. Invariant: 0 exactly for values that are one key.
 */
export function comparator(type: DataType): Comparator {
  const compare = presentComparator(type);
  return (left, right) => {
    if (left === null) return right === null ? 0 : -1;
    return right === null ? 1 : compare(left, right);
  };
}

/** Whether values of the type have an order, so that it may be a key or a sequence. */
export function isOrderable(type: DataType): boolean {
  switch (type.kind) {
    case 'map':
    case 'variant':
    case 'interval':
      return false;
    case 'array':
      return isOrderable(type.element);
    case 'struct':
      return type.fields.every((field) => isOrderable(field.type));
    default:
      return true;
  }
}

/** The order of the UTF-8 bytes, which is the order of code points and not that of UTF-16 units. */
export function compareText(left: string, right: string): number {
  const length = Math.min(left.length, right.length);
  for (let index = 0; index < length; index += 1) {
    const a = left.charCodeAt(index);
    const b = right.charCodeAt(index);
    if (a !== b) {
      // Surrogates stand for code points above all others of two bytes, though U+E000… has larger units.
      const aIsSurrogate = (a & 0xf800) === 0xd800;
      const bIsSurrogate = (b & 0xf800) === 0xd800;
      if (aIsSurrogate !== bIsSurrogate) return aIsSurrogate ? 1 : -1;
      return a - b;
    }
  }
  return left.length - right.length;
}

/** Unsigned, shorter first. */
export function compareBinary(left: Uint8Array, right: Uint8Array): number {
  const length = Math.min(left.length, right.length);
  for (let index = 0; index < length; index += 1) {
    const difference = (left[index] as number) - (right[index] as number);
    if (difference !== 0) return difference;
  }
  return left.length - right.length;
}

export function compareDoubles(left: number, right: number): number {
  if (left < right) return -1;
  if (left > right) return 1;
  if (left === right) return 0;
  return Number(Number.isNaN(left)) - Number(Number.isNaN(right));
}

function presentComparator(type: DataType): Comparator {
  switch (type.kind) {
    case 'void':
      return () => 0;
    case 'boolean':
    case 'tinyint':
    case 'smallint':
    case 'int':
    case 'date':
    case 'interval_year_month':
      return (left, right) => Number(left) - Number(right);
    case 'float':
    case 'double':
      return (left, right) => compareDoubles(left as number, right as number);
    case 'bigint':
    case 'decimal':
    case 'timestamp':
    case 'timestamp_ntz':
    case 'time':
    case 'interval_day_time':
      return (left, right) => compareBigints(left as bigint, right as bigint);
    case 'string':
      return (left, right) => compareText(left as string, right as string);
    case 'binary':
      return (left, right) => compareBinary(left as Uint8Array, right as Uint8Array);
    case 'array':
      return arrayComparator(comparator(type.element));
    case 'struct':
      return structComparator(type.fields.map((field) => comparator(field.type)));
    case 'map':
    case 'variant':
    case 'interval':
      throw new FlowError('PIPELINE_INVALID', `values of type ${formatType(type)} have no order`, {
        hint: 'Keys and sequences are numbers, strings, booleans, dates, timestamps, binary, or arrays and structs of those.',
      });
  }
}

function compareBigints(left: bigint, right: bigint): number {
  if (left < right) return -1;
  return left > right ? 1 : 0;
}

function arrayComparator(compare: Comparator): Comparator {
  return (left, right) => {
    const first = left as readonly Value[];
    const second = right as readonly Value[];
    const length = Math.min(first.length, second.length);
    for (let index = 0; index < length; index += 1) {
      const order = compare(first[index] as Value, second[index] as Value);
      if (order !== 0) return order;
    }
    return first.length - second.length;
  };
}

function structComparator(fields: readonly Comparator[]): Comparator {
  return (left, right) => {
    const first = left as readonly Value[];
    const second = right as readonly Value[];
    for (const [index, compare] of fields.entries()) {
      const order = compare(first[index] as Value, second[index] as Value);
      if (order !== 0) return order;
    }
    return 0;
  };
}
