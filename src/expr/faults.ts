import { FaultError, type Place } from '../base/place.ts';

/** An error of analysis, under Spark's error class. */
export function fault(code: string, message: string, place: Place, hint?: string): FaultError {
  return new FaultError({
    severity: 'error',
    code,
    message,
    place,
    ...(hint === undefined ? {} : { hint }),
  });
}

export function mismatch(kind: string, message: string, place: Place, hint?: string): FaultError {
  return fault(`DATATYPE_MISMATCH.${kind}`, message, place, hint);
}
