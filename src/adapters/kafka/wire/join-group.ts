import { requestCodec } from './request-codec.ts';

export type JoinGroupRequest = {
  readonly group: string;
  readonly sessionTimeoutMs: number;
  readonly rebalanceTimeoutMs: number;
  /** Empty at first; the broker then answers MEMBER_ID_REQUIRED with the id to use. */
  readonly memberId: string;
  readonly instanceId: string | null;
  readonly protocolType: string;
  /** In order of preference. */
  readonly protocols: readonly { readonly name: string; readonly metadata: Buffer }[];
  /** Shown in the broker's log from version 8 on. */
  readonly reason: string | null;
};

export type JoinedMember = {
  readonly memberId: string;
  readonly instanceId: string | null;
  readonly metadata: Buffer;
};

export type JoinGroupResponse = {
  readonly errorCode: number;
  readonly generation: number;
  readonly protocolName: string | null;
  readonly leaderId: string;
  /** The leader keeps the assignment as it is (version 9, static members). */
  readonly skipAssignment: boolean;
  readonly memberId: string;
  /** Empty for all but the leader. */
  readonly members: readonly JoinedMember[];
};

/** Joins a group in the classic protocol. */
export const joinGroup = requestCodec<JoinGroupRequest, JoinGroupResponse>({
  name: 'JoinGroup',
  apiKey: 11,
  minVersion: 5,
  maxVersion: 9,
  flexibleFrom: 6,
  write(writer, request, version) {
    writer.string(request.group);
    writer.int32(request.sessionTimeoutMs);
    writer.int32(request.rebalanceTimeoutMs);
    writer.string(request.memberId);
    writer.nullableString(request.instanceId);
    writer.string(request.protocolType);
    writer.array(request.protocols, (protocol) => {
      writer.string(protocol.name);
      writer.bytes(protocol.metadata);
      writer.tags();
    });
    if (version >= 8) writer.nullableString(request.reason);
  },
  read(reader, version) {
    reader.int32();
    const errorCode = reader.int16();
    const generation = reader.int32();
    if (version >= 7) reader.nullableString();
    const protocolName = reader.nullableString();
    const leaderId = reader.string();
    const skipAssignment = version >= 9 ? reader.boolean() : false;
    const memberId = reader.string();
    const members = reader.array((): JoinedMember => {
      const member = {
        memberId: reader.string(),
        instanceId: reader.nullableString(),
        metadata: reader.slice(),
      };
      reader.tags();
      return member;
    });
    return { errorCode, generation, protocolName, leaderId, skipAssignment, memberId, members };
  },
});
