import { requestCodec } from './request-codec.ts';

export type SyncGroupRequest = {
  readonly group: string;
  readonly generation: number;
  readonly memberId: string;
  readonly instanceId: string | null;
  /** Both are checked by the broker from version 5 on. */
  readonly protocolType: string | null;
  readonly protocolName: string | null;
  /** Given by the leader only. */
  readonly assignments: readonly { readonly memberId: string; readonly assignment: Buffer }[];
};

export type SyncGroupResponse = { readonly errorCode: number; readonly assignment: Buffer };

/** Hands the leader's assignments in, and the member's own out. */
export const syncGroup = requestCodec<SyncGroupRequest, SyncGroupResponse>({
  name: 'SyncGroup',
  apiKey: 14,
  minVersion: 3,
  maxVersion: 5,
  flexibleFrom: 4,
  write(writer, request, version) {
    writer.string(request.group);
    writer.int32(request.generation);
    writer.string(request.memberId);
    writer.nullableString(request.instanceId);
    if (version >= 5) {
      writer.nullableString(request.protocolType);
      writer.nullableString(request.protocolName);
    }
    writer.array(request.assignments, (item) => {
      writer.string(item.memberId);
      writer.bytes(item.assignment);
      writer.tags();
    });
  },
  read(reader, version) {
    reader.int32();
    const errorCode = reader.int16();
    if (version >= 5) {
      reader.nullableString();
      reader.nullableString();
    }
    return { errorCode, assignment: reader.slice() };
  },
});
