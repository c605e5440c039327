import type { Place } from '../base/place.ts';
import { callPlace } from './call-place.ts';

/** The conditions that the callback at work has made, each with its place, until they become part of a tree. */
let made: Map<object, Place> | undefined;

/**
 * Notes a condition that the callback at work makes; what it gives back is called when the condition becomes part of a
 * tree. Invariant: outside of callbacks nothing is noted, and what was made there may be used or not.
 */
export function noteCondition(condition: object): () => void {
  const within = made;
  within?.set(condition, callPlace());
  return () => within?.delete(condition);
}

/** Calls a callback; `unused` tells, when its result has become a tree, where a condition was made that is not in it. */
export function collectConditions<Result>(callback: () => Result): {
  readonly result: Result;
  readonly unused: () => Place | undefined;
} {
  const outer = made;
  const own = new Map<object, Place>();
  made = own;
  try {
    return { result: callback(), unused: () => own.values().next().value };
  } finally {
    made = outer;
  }
}
