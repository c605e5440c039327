import type { Place } from '../../base/place.ts';
import type { DataType } from '../../data/types.ts';
import { literal } from '../../expr/call.ts';
import { castTo } from '../../expr/coerce.ts';
import type { Expression } from '../../expr/expression.ts';
import { findFunction } from '../../expr/function-registry.ts';
import { dateAdd } from '../../expr/operators/interval-arithmetic.ts';
import { types } from '../../expr/types.ts';
import { bindCall } from './bind-call.ts';

const dayOffsets: ReadonlyMap<string, number> = new Map([
  ['today', 0],
  ['tomorrow', 1],
  ['yesterday', -1],
]);

/**
 * A written text such as 'today' as a date or timestamp; undefined for any other text or type.
 * Invariant: it is a call that reads the clock, so that it is told like one wherever that matters.
 */
export function specialTime(
  written: string,
  type: DataType,
  options: { readonly timeZone: string; readonly place: Place },
): Expression | undefined {
  const text = written.trim().toLowerCase();
  const offset = dayOffsets.get(text);
  if (type.kind !== 'date' && type.kind !== 'timestamp' && type.kind !== 'timestamp_ntz') {
    return undefined;
  }
  if (text === 'epoch') return literal(type.kind === 'date' ? 0 : 0n, type, options.place);
  if (text === 'now' && type.kind !== 'date') {
    return clock(type.kind === 'timestamp' ? 'current_timestamp' : 'localtimestamp', options);
  }
  if (text !== 'now' && offset === undefined) return undefined;
  const today = clock('current_date', options);
  if (today === undefined) return undefined;
  const days = literal(offset ?? 0, types.int, options.place);
  const day = (offset ?? 0) === 0 ? today : dateAdd(today, days, false, options.place);
  return castTo(day, type);
}

function clock(
  name: string,
  { timeZone, place }: { readonly timeZone: string; readonly place: Place },
): Expression | undefined {
  const definition = findFunction(name);
  return (
    definition &&
    bindCall(definition, { name, arguments: [], names: [], lambdas: [], timeZone, place })
  );
}
