import type { Transitions } from '../base/state-machine.ts';

/**
 * The life of one full refresh, as the catalog remembers it.
 *
 *     beside:    building ──► swapping ──► switching ──► done
 *                    └──► cancelled
 *     in place:               emptying ──► switching ──► done
 *
 * `building`: the new generation grows beside the table, which nothing touches. `swapping`, `emptying`: records of the
 * table are being replaced or removed; from here on there is no way but forward. `switching`: checkpoints, definition
 * and generation change.
 */
export type RefreshState =
  | 'building'
  | 'swapping'
  | 'emptying'
  | 'switching'
  | 'done'
  | 'cancelled';

export const refreshTransitions: Transitions<RefreshState> = {
  building: ['building', 'swapping', 'cancelled'],
  swapping: ['swapping', 'switching'],
  emptying: ['emptying', 'switching'],
  switching: ['switching', 'done'],
  done: [],
  cancelled: [],
};

/** Whether the table is as it was before the refresh. */
export function isUntouched(state: RefreshState): boolean {
  return state === 'building' || state === 'cancelled';
}

export function isOver(state: RefreshState): boolean {
  return state === 'done' || state === 'cancelled';
}
