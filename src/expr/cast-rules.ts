import { sameType } from '../data/type-text.ts';
import type { DataType } from '../data/types.ts';
import { isAnsiInterval, isAtomic, isDatetime, isIntegral, isNumeric } from './types.ts';

type Nested = (from: DataType, to: DataType) => boolean;

/** Arrays, maps and structs go over when their parts do; field names don't matter, their number does. */
function nestedGoes(from: DataType, to: DataType, goes: Nested): boolean {
  if (from.kind === 'array' && to.kind === 'array') return goes(from.element, to.element);
  if (from.kind === 'map' && to.kind === 'map') {
    return goes(from.key, to.key) && goes(from.value, to.value);
  }
  if (from.kind === 'struct' && to.kind === 'struct') {
    return (
      from.fields.length === to.fields.length &&
      from.fields.every((field, i) => {
        const target = to.fields[i];
        return target !== undefined && goes(field.type, target.type);
      })
    );
  }
  return false;
}

function comesFromVariant(to: DataType): boolean {
  switch (to.kind) {
    case 'array':
      return comesFromVariant(to.element);
    case 'map':
      return to.key.kind === 'string' && comesFromVariant(to.value);
    case 'struct':
      return to.fields.every((field) => comesFromVariant(field.type));
    default:
      return goesIntoVariant(to, false);
  }
}

/** Types of values that become variants: structs and maps only where they are asked for. */
export function goesIntoVariant(type: DataType, allowsObjects: boolean): boolean {
  switch (type.kind) {
    case 'array':
      return goesIntoVariant(type.element, allowsObjects);
    case 'map':
      return allowsObjects && type.key.kind === 'string' && goesIntoVariant(type.value, true);
    case 'struct':
      return allowsObjects && type.fields.every((field) => goesIntoVariant(field.type, true));
    case 'variant':
      return true;
    default:
      return isAtomic(type) && !isAnsiInterval(type) && type.kind !== 'time';
  }
}

/** Which explicit casts exist in ANSI mode; TRY_CAST allows the same. */
export function canCast(from: DataType, to: DataType): boolean {
  if (sameType(from, to) || from.kind === 'void') return true;
  if (from.kind === 'variant') return comesFromVariant(to);
  if (to.kind === 'string') return true;
  if (to.kind === 'variant') return goesIntoVariant(from, false);
  if (from.kind === 'string') return isAtomic(to) || to.kind === 'interval';
  if (from.kind === 'boolean') return isNumeric(to);
  if (isNumeric(from)) return canCastNumber(from, to);
  if (isDatetime(from)) {
    return (
      (isDatetime(to) && to.kind !== from.kind) ||
      (from.kind === 'timestamp' && isNumeric(to)) ||
      (from.kind !== 'date' && to.kind === 'time')
    );
  }
  if (from.kind === 'time') return to.kind === 'time' || to.kind === 'decimal' || isIntegral(to);
  if (isAnsiInterval(from)) {
    return from.kind === to.kind || isIntegral(to) || to.kind === 'decimal';
  }
  return nestedGoes(from, to, canCast);
}

function canCastNumber(from: DataType, to: DataType): boolean {
  if (isNumeric(to) || to.kind === 'boolean' || to.kind === 'timestamp') return true;
  return isAnsiInterval(to) && (isIntegral(from) || from.kind === 'decimal');
}

/** Which values go into a declared column, or into a parameter of a function, without a written cast. */
export function canStoreAssign(from: DataType, to: DataType): boolean {
  if (sameType(from, to) || from.kind === 'void') return true;
  if (isNumeric(from) && isNumeric(to)) return true;
  if (to.kind === 'string') {
    return isAtomic(from) || from.kind === 'interval' || from.kind === 'variant';
  }
  if (isDatetime(from) && isDatetime(to)) return true;
  if (isAnsiInterval(from) && from.kind === to.kind) return true;
  if (from.kind === 'time' && to.kind === 'time') return from.precision <= to.precision;
  return nestedGoes(from, to, canStoreAssign);
}

/** Spark's error class for a cast that does not exist, with the function to use instead where there is one. */
export function castRefusal(
  from: DataType,
  to: DataType,
  mode: 'ansi' | 'try' | 'store',
): { kind: string; hint?: string } {
  if (isNumeric(from) && to.kind === 'date') {
    return { kind: 'CAST_WITH_FUNC_SUGGESTION', hint: 'Use DATE_FROM_UNIX_DATE instead.' };
  }
  if (from.kind === 'date' && isNumeric(to)) {
    return { kind: 'CAST_WITH_FUNC_SUGGESTION', hint: 'Use UNIX_DATE instead.' };
  }
  const isLegacy =
    (from.kind === 'boolean' && to.kind === 'timestamp') ||
    (isIntegral(from) && to.kind === 'binary') ||
    ((from.kind === 'date' || from.kind === 'timestamp') && to.kind === 'boolean');
  if (isLegacy && mode === 'ansi') return { kind: 'CAST_WITH_CONF_SUGGESTION' };
  return { kind: 'CAST_WITHOUT_SUGGESTION' };
}
