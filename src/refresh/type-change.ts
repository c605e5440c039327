import { sameType } from '../data/type-text.ts';
import type { DataType, StructField } from '../data/types.ts';

/**
 * What a change of a column's type means for rows that are there already.
 *
 * - `widened`: every value of the old type is one of the new, written the same way.
 * - `narrowed`: of one family, but some values no longer fit.
 * - `incompatible`: values are written in another way.
 */
export type TypeChange = 'same' | 'widened' | 'narrowed' | 'incompatible';

/** Decimal digits before the point that a whole number of the type may have. */
const wholeDigits: Readonly<Record<string, number>> = {
  tinyint: 3,
  smallint: 5,
  int: 10,
  bigint: 19,
};
const wholeOrder = ['tinyint', 'smallint', 'int', 'bigint'];
/** Whole numbers up to these are exact in the binary type. */
const exactIn: Readonly<Record<string, readonly string[]>> = {
  float: ['tinyint', 'smallint'],
  double: ['tinyint', 'smallint', 'int', 'float'],
};

/** Invariant: `widened` only where old rows, read by the new type, keep their values. */
export function typeChange(before: DataType, after: DataType): TypeChange {
  if (sameType(before, after)) return 'same';
  if (widens(before, after)) return 'widened';
  if (widens(after, before) || isFamily(before, after)) return 'narrowed';
  return nested(before, after);
}

/** Types that stand as text in JSON. */
const textKinds: readonly DataType['kind'][] = [
  ...(['string', 'binary', 'date', 'time', 'timestamp', 'timestamp_ntz'] as const),
  ...(['interval', 'interval_day_time', 'interval_year_month'] as const),
];

/**
 * The same for a column of a source: whether the records that were read by the old type can be read by the new one.
 * Invariant: `widened` only where each of them can.
 */
export function readingChange(before: DataType, after: DataType): TypeChange {
  if (sameType(before, after)) return 'same';
  if (after.kind === 'variant') return 'widened';
  if (after.kind === 'string' && textKinds.includes(before.kind)) return 'widened';
  if (after.kind === 'decimal') return readsAsDecimal(before, after);
  if (before.kind === 'array' && after.kind === 'array') {
    return readingChange(before.element, after.element);
  }
  if (before.kind === 'map' && after.kind === 'map') {
    const key = sameType(before.key, after.key) ? 'same' : 'incompatible';
    return worst([key, readingChange(before.value, after.value)]);
  }
  if (before.kind === 'struct' && after.kind === 'struct') {
    // A field that is not read any more is passed over, and one that is new is NULL.
    const shared = before.fields.flatMap(({ name, type }): readonly TypeChange[] => {
      const found = after.fields.find((field) => field.name === name);
      return found === undefined ? [] : [readingChange(type, found.type)];
    });
    return worst([...shared, 'widened']);
  }
  return typeChange(before, after);
}

type DecimalType = Extract<DataType, { kind: 'decimal' }>;

/** Another scale is no hindrance to reading, as long as no digit is lost. */
function readsAsDecimal(before: DataType, after: DecimalType): TypeChange {
  const whole = after.precision - after.scale;
  if (before.kind === 'decimal') {
    const isWider = after.scale >= before.scale && whole >= before.precision - before.scale;
    return isWider ? 'widened' : 'narrowed';
  }
  const digits = wholeDigits[before.kind];
  if (digits !== undefined) return whole >= digits ? 'widened' : 'narrowed';
  return typeChange(before, after);
}

function widens(before: DataType, after: DataType): boolean {
  const from = wholeOrder.indexOf(before.kind);
  const to = wholeOrder.indexOf(after.kind);
  if (from >= 0 && to >= 0) return from < to;
  if (exactIn[after.kind]?.includes(before.kind) === true) return true;
  if (after.kind !== 'decimal') return false;
  const whole = after.precision - after.scale;
  if (before.kind === 'decimal') {
    // With another scale a value is written with other digits.
    return after.scale === before.scale && whole >= before.precision - before.scale;
  }
  const digits = wholeDigits[before.kind];
  return digits !== undefined && after.scale === 0 && whole >= digits;
}

/** Numbers that are written alike, although not all of them fit. */
function isFamily(before: DataType, after: DataType): boolean {
  const isNumber = ({ kind }: DataType): boolean =>
    kind === 'decimal' || kind === 'float' || kind === 'double' || wholeOrder.includes(kind);
  return isNumber(before) && isNumber(after);
}

/** A container changes as its parts do; the worst of them counts. */
function nested(before: DataType, after: DataType): TypeChange {
  if (before.kind === 'array' && after.kind === 'array') {
    return typeChange(before.element, after.element);
  }
  if (before.kind === 'map' && after.kind === 'map') {
    const key = sameType(before.key, after.key) ? 'same' : 'incompatible';
    return worst([key, typeChange(before.value, after.value)]);
  }
  if (before.kind === 'struct' && after.kind === 'struct') {
    return fieldsChange(before.fields, after.fields);
  }
  return 'incompatible';
}

/** Further fields are NULL in old rows; one that is gone or called otherwise can't be read any more. */
function fieldsChange(before: readonly StructField[], after: readonly StructField[]): TypeChange {
  const changes = before.map(({ name, type }): TypeChange => {
    const found = after.find((field) => field.name === name);
    return found === undefined ? 'incompatible' : typeChange(type, found.type);
  });
  return worst([...changes, after.length > before.length ? 'widened' : 'same']);
}

const order: readonly TypeChange[] = ['same', 'widened', 'narrowed', 'incompatible'];

function worst(changes: readonly TypeChange[]): TypeChange {
  return order[Math.max(...changes.map((change) => order.indexOf(change)))] ?? 'same';
}
