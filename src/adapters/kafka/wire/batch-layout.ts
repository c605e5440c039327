/**
 * Where the fields of a record batch of magic 2 stand, the only format that Kafka writes since 0.11.
 * The checksum covers everything from the attributes on.
 */
export const batchLayout = {
  baseOffset: 0,
  length: 8,
  leaderEpoch: 12,
  magic: 16,
  checksum: 17,
  attributes: 21,
  lastOffsetDelta: 23,
  baseTimestamp: 27,
  maxTimestamp: 35,
  producerId: 43,
  producerEpoch: 51,
  baseSequence: 53,
  recordCount: 57,
  records: 61,
} as const;

/** What stands before the bytes that the length field counts. */
export const BATCH_PREFIX_BYTES = 12;

export const batchAttributes = {
  compression: 0x07,
  logAppendTime: 0x08,
  transactional: 0x10,
  control: 0x20,
} as const;
