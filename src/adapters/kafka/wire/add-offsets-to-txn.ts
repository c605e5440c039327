import { requestCodec } from './request-codec.ts';

export type AddOffsetsToTxnRequest = {
  readonly transactionalId: string;
  readonly producerId: bigint;
  readonly producerEpoch: number;
  readonly group: string;
};

export type AddOffsetsToTxnResponse = { readonly errorCode: number };

/** Makes a group's offsets part of the open transaction; needed only where TxnOffsetCommit is older than version 5. */
export const addOffsetsToTxn = requestCodec<AddOffsetsToTxnRequest, AddOffsetsToTxnResponse>({
  name: 'AddOffsetsToTxn',
  apiKey: 25,
  minVersion: 3,
  maxVersion: 3,
  flexibleFrom: 3,
  write(writer, request) {
    writer.string(request.transactionalId);
    writer.int64(request.producerId);
    writer.int16(request.producerEpoch);
    writer.string(request.group);
  },
  read(reader) {
    reader.int32();
    return { errorCode: reader.int16() };
  },
});
