import { requestCodec } from './request-codec.ts';

export type LeaveGroupRequest = {
  readonly group: string;
  /** An empty member id with an instance id removes whoever holds the instance. */
  readonly members: readonly {
    readonly memberId: string;
    readonly instanceId: string | null;
    readonly reason: string | null;
  }[];
};

export type LeaveGroupResponse = {
  readonly errorCode: number;
  readonly members: readonly {
    readonly memberId: string;
    readonly instanceId: string | null;
    readonly errorCode: number;
  }[];
};

/** Takes members out of a group at once, without waiting for their session to time out. */
export const leaveGroup = requestCodec<LeaveGroupRequest, LeaveGroupResponse>({
  name: 'LeaveGroup',
  apiKey: 13,
  minVersion: 3,
  maxVersion: 5,
  flexibleFrom: 4,
  write(writer, request, version) {
    writer.string(request.group);
    writer.array(request.members, (member) => {
      writer.string(member.memberId);
      writer.nullableString(member.instanceId);
      if (version >= 5) writer.nullableString(member.reason);
      writer.tags();
    });
  },
  read(reader) {
    reader.int32();
    const errorCode = reader.int16();
    const members = reader.array(() => {
      const member = {
        memberId: reader.string(),
        instanceId: reader.nullableString(),
        errorCode: reader.int16(),
      };
      reader.tags();
      return member;
    });
    return { errorCode, members };
  },
});
