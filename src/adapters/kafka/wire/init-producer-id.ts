import { requestCodec } from './request-codec.ts';

export type InitProducerIdRequest = {
  /** null: idempotent only. */
  readonly transactionalId: string | null;
  readonly transactionTimeoutMs: number;
  /** -1n and -1 take the transactional id over from whoever had it. */
  readonly producerId: bigint;
  readonly producerEpoch: number;
};

export type InitProducerIdResponse = {
  readonly errorCode: number;
  readonly producerId: bigint;
  readonly producerEpoch: number;
};

/** Opens a producer; with a transactional id it fences the one before and ends its transaction. */
export const initProducerId = requestCodec<InitProducerIdRequest, InitProducerIdResponse>({
  name: 'InitProducerId',
  apiKey: 22,
  minVersion: 3,
  maxVersion: 5,
  flexibleFrom: 2,
  write(writer, request) {
    writer.nullableString(request.transactionalId);
    writer.int32(request.transactionTimeoutMs);
    writer.int64(request.producerId);
    writer.int16(request.producerEpoch);
  },
  read(reader) {
    reader.int32();
    return {
      errorCode: reader.int16(),
      producerId: reader.bigInt64(),
      producerEpoch: reader.int16(),
    };
  },
});
