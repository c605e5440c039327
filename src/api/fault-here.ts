import { FaultError, type Place } from '../base/place.ts';
import { callPlace } from './call-place.ts';

/** Takes up what is wrong with a call; without a place it is that of the statement. */
export type Refuse = (code: string, message: string, hint: string, place?: Place) => void;

/** A fault at the place of the code that called into this folder, to be thrown where nothing can stand in for what it asked. */
export function faultHere(code: string, message: string, hint: string): FaultError {
  return new FaultError({ severity: 'error', code, message, hint, place: callPlace() });
}
