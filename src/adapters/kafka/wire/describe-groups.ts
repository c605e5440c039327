import { requestCodec } from './request-codec.ts';

export type DescribeGroupsRequest = { readonly groups: readonly string[] };

export type DescribedGroup = {
  readonly errorCode: number;
  readonly group: string;
  /** Such as Stable, PreparingRebalance, Empty or Dead. */
  readonly state: string;
  readonly protocolType: string;
  readonly protocolName: string;
  readonly members: readonly {
    readonly memberId: string;
    readonly instanceId: string | null;
    readonly clientId: string;
    readonly clientHost: string;
    readonly metadata: Buffer;
    readonly assignment: Buffer;
  }[];
};

export type DescribeGroupsResponse = { readonly groups: readonly DescribedGroup[] };

/** State and members of groups of the classic protocol. */
export const describeGroups = requestCodec<DescribeGroupsRequest, DescribeGroupsResponse>({
  name: 'DescribeGroups',
  apiKey: 15,
  minVersion: 4,
  maxVersion: 5,
  flexibleFrom: 5,
  write(writer, request) {
    writer.stringArray(request.groups);
    writer.boolean(false);
  },
  read(reader) {
    reader.int32();
    const groups = reader.array((): DescribedGroup => {
      const group = {
        errorCode: reader.int16(),
        group: reader.string(),
        state: reader.string(),
        protocolType: reader.string(),
        protocolName: reader.string(),
        members: reader.array(() => {
          const member = {
            memberId: reader.string(),
            instanceId: reader.nullableString(),
            clientId: reader.string(),
            clientHost: reader.string(),
            metadata: reader.slice(),
            assignment: reader.slice(),
          };
          reader.tags();
          return member;
        }),
      };
      reader.int32();
      reader.tags();
      return group;
    });
    return { groups };
  },
});
