import type { Place } from '../../base/place.ts';
import type { DataType } from '../../data/types.ts';
import { fault } from '../../expr/faults.ts';
import type * as ast from '../../sql/ast.ts';
import { nameKey } from '../bind/names.ts';

/** Maps and variants can't be told apart or found equal. */
export function requireComparable(types: readonly DataType[], place: Place): void {
  for (const [kind, name] of [
    ['map', 'MAP'],
    ['variant', 'VARIANT'],
  ] as const) {
    if (!types.some((type) => holds(type, kind))) continue;
    throw fault(
      `UNSUPPORTED_FEATURE.SET_OPERATION_ON_${name}_TYPE`,
      `values of type ${name} can't be compared as a whole`,
      place,
    );
  }
}

export function holds(type: DataType, kind: DataType['kind']): boolean {
  if (type.kind === kind) return true;
  switch (type.kind) {
    case 'array':
      return holds(type.element, kind);
    case 'map':
      return holds(type.key, kind) || holds(type.value, kind);
    case 'struct':
      return type.fields.some((field) => holds(field.type, kind));
    default:
      return false;
  }
}

/** `1` in ORDER BY and GROUP BY is a column of the select list; its index. */
export function ordinalOf(
  node: ast.Expression,
  count: number,
  clause: 'ORDER_BY' | 'GROUP_BY',
): number | undefined {
  const isNegative = node.node === 'unary' && node.operator === '-';
  const number = isNegative ? node.operand : node;
  if (number.node !== 'number' || number.suffix !== '' || !/^\d+$/.test(number.text)) {
    return undefined;
  }
  const ordinal = Number(number.text) * (isNegative ? -1 : 1);
  if (ordinal >= 1 && ordinal <= count) return ordinal - 1;
  throw fault(
    `${clause}_POS_OUT_OF_RANGE`,
    `there is no column ${ordinal} among ${count}`,
    node.place,
  );
}

/** `ORDER BY ALL`. */
export function isOrderByAll(items: readonly ast.OrderItem[]): boolean {
  const [first] = items;
  const name = first?.value.node === 'column' ? first.value.name : undefined;
  return (
    items.length === 1 && name?.parts.length === 1 && nameKey(name.parts[0]?.text ?? '') === 'all'
  );
}
