import { FaultError, type Place } from '../../base/place.ts';
import { formatType } from '../../data/type-text.ts';
import type { CalendarInterval } from '../../data/value.ts';
import { constantValue, isConstant } from '../../expr/compile.ts';
import type { Expression } from '../../expr/expression.ts';
import type { Watermark } from '../../sql/ast.ts';
import type { BindContext } from '../bind/bind-context.ts';
import { bindRow } from '../bind/bind-row.ts';
import { planFault } from '../faults.ts';
import { type BoundRelation, withStep } from '../relation.ts';
import { checkRowExpression } from './row-rules.ts';

/** A relation with `WATERMARK time DELAY OF INTERVAL …` behind it; undefined where that has a fault. */
export function withWatermark(
  relation: BoundRelation | undefined,
  watermark: Watermark | undefined,
  context: BindContext,
): BoundRelation | undefined {
  if (relation === undefined || watermark === undefined) return relation;
  const clause = { clause: 'WATERMARK', allowsGenerator: false, hasWatermark: false };
  const { faults } = context;
  if (context.isStatic) {
    const message = 'the static side of a join has a watermark';
    faults.add(planFault('WATERMARK_INVALID', message, watermark.place, { hint: 'Drop it.' }));
    return undefined;
  }
  if (!checkRowExpression(watermark.column, clause, faults)) return undefined;
  if (!checkRowExpression(watermark.delay, clause, faults)) return undefined;
  const time = bindRow(watermark.column, { columns: relation.columns, aliases: [] }, context);
  const delay = bindRow(watermark.delay, { columns: [], aliases: [] }, context);
  if (time === undefined || delay === undefined) return undefined;
  return faults.attempt(() => {
    if (time.type.kind !== 'timestamp' && time.type.kind !== 'timestamp_ntz') {
      throw invalid(`a watermark is a timestamp, not ${formatType(time.type)}`, time.place);
    }
    const delayMicros = delayOf(delay, context.catalog.timeZone);
    return withStep(relation, { step: 'watermark', time, delayMicros });
  });
}

function delayOf(delay: Expression, timeZone: string): bigint {
  const { kind } = delay.type;
  const value = isConstant(delay) ? constantValue(delay, timeZone) : null;
  if (kind === 'interval_day_time' && typeof value === 'bigint' && value >= 0n) return value;
  if (kind === 'interval' && value !== null) {
    const { months, days, micros } = value as CalendarInterval;
    const sum = BigInt(days) * 86_400_000_000n + micros;
    if (months === 0 && sum >= 0n) return sum;
  }
  throw invalid('the delay of a watermark is no length of time', delay.place);
}

function invalid(message: string, place: Place): FaultError {
  const hint = 'Write WATERMARK ts DELAY OF INTERVAL 5 MINUTES with a TIMESTAMP column ts.';
  return new FaultError(planFault('WATERMARK_INVALID', message, place, { hint }));
}
