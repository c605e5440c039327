import { requestCodec } from './request-codec.ts';

export type HeartbeatRequest = {
  readonly group: string;
  readonly generation: number;
  readonly memberId: string;
  readonly instanceId: string | null;
};

export type HeartbeatResponse = { readonly errorCode: number };

/** Keeps a member alive, and tells it of a rebalance. */
export const heartbeat = requestCodec<HeartbeatRequest, HeartbeatResponse>({
  name: 'Heartbeat',
  apiKey: 12,
  minVersion: 3,
  maxVersion: 4,
  flexibleFrom: 4,
  write(writer, request) {
    writer.string(request.group);
    writer.int32(request.generation);
    writer.string(request.memberId);
    writer.nullableString(request.instanceId);
  },
  read(reader) {
    reader.int32();
    return { errorCode: reader.int16() };
  },
});
