import { canonicalValue } from '../../data/canonical.ts';
import { shortestDoubleOfFloat } from '../../data/double-text.ts';
import type { DataType } from '../../data/types.ts';
import type { Value } from '../../data/value.ts';

/**
 * A value as a test in JavaScript has it: a BIGINT is a bigint, a decimal, date or time text, a struct an object, a map an
 * array of pairs. Invariant: nothing is lost on the way, so that two values are equal exactly when these are.
 */
export function plainValue(type: DataType, value: Value): unknown {
  if (value === null) return null;
  switch (type.kind) {
    case 'bigint':
    case 'double':
      return value;
    case 'float':
      return shortestDoubleOfFloat(value as number);
    case 'array':
      return (value as readonly Value[]).map((element) => plainValue(type.element, element));
    case 'map':
      return (value as { entries: readonly (readonly [Value, Value])[] }).entries.map(
        ([key, entry]) => [plainValue(type.key, key), plainValue(type.value, entry)],
      );
    case 'struct':
      return Object.fromEntries(
        type.fields.map(({ name, type: field }, index) => [
          name,
          plainValue(field, (value as readonly Value[])[index] ?? null),
        ]),
      );
    default:
      return canonicalValue(type, value);
  }
}

/** What JSON has as a number. */
const numberText = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/u;

/** The JSON text of such a value, as a producer would write it: numbers with every digit. */
export function recordJson(type: DataType | undefined, value: unknown): string {
  if (typeof value === 'bigint') return String(value);
  // Any other text stays one: it fits a number no more than it would in the record.
  if (isNumber(type) && typeof value === 'string' && numberText.test(value)) return value;
  if (Array.isArray(value)) {
    const element = type?.kind === 'array' ? type.element : undefined;
    return `[${value.map((one) => recordJson(element, one)).join(',')}]`;
  }
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .map(
      ([name, member]) => `${JSON.stringify(name)}:${recordJson(memberType(type, name), member)}`,
    );
  return `{${members.join(',')}}`;
}

function memberType(type: DataType | undefined, name: string): DataType | undefined {
  if (type?.kind === 'map') return type.value;
  if (type?.kind !== 'struct') return undefined;
  return type.fields.find((field) => field.name === name)?.type;
}

function isNumber(type: DataType | undefined): boolean {
  return type?.kind === 'decimal' || type?.kind === 'bigint';
}
