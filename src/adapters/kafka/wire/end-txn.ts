import { requestCodec } from './request-codec.ts';

export type EndTxnRequest = {
  readonly transactionalId: string;
  readonly producerId: bigint;
  readonly producerEpoch: number;
  readonly committed: boolean;
};

export type EndTxnResponse = {
  readonly errorCode: number;
  /** From version 5 on: what the next transaction has to use, with sequences from 0. Below: undefined. */
  readonly next: { readonly producerId: bigint; readonly producerEpoch: number } | undefined;
};

/** Commits or aborts the open transaction. */
export const endTxn = requestCodec<EndTxnRequest, EndTxnResponse>({
  name: 'EndTxn',
  apiKey: 26,
  minVersion: 3,
  maxVersion: 5,
  flexibleFrom: 3,
  write(writer, request) {
    writer.string(request.transactionalId);
    writer.int64(request.producerId);
    writer.int16(request.producerEpoch);
    writer.boolean(request.committed);
  },
  read(reader, version) {
    reader.int32();
    const errorCode = reader.int16();
    if (version < 5) return { errorCode, next: undefined };
    return {
      errorCode,
      next: { producerId: reader.bigInt64(), producerEpoch: reader.int16() },
    };
  },
});
