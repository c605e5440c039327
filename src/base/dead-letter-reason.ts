/**
 * Why records are dead letters, in a few words: what of an error's class is fit for the label of a metric. Invariant: each class has
 * exactly one of them, so that over the reasons the count is that of all dead letters.
 */
export const deadLetterReasons = [
  'deserialize',
  'schema',
  'key_null',
  'sequence_null',
  'expression',
] as const;

export type DeadLetterReason = (typeof deadLetterReasons)[number];

export function deadLetterReason(errorClass: string): DeadLetterReason {
  return reasons.get(errorClass) ?? 'expression';
}

const reasons: ReadonlyMap<string, DeadLetterReason> = new Map([
  ['MALFORMED_RECORD', 'deserialize'],
  ['VALUE_DOES_NOT_FIT', 'schema'],
  ['NULL_VALUE', 'schema'],
  ['NULL_KEY', 'key_null'],
  ['NULL_SEQUENCE', 'sequence_null'],
]);
