import { requestCodec } from './request-codec.ts';

/** Version 3 cannot filter: it lists all states. */
export type ListGroupsRequest = { readonly states: readonly string[] };

export type ListGroupsResponse = {
  readonly errorCode: number;
  readonly groups: readonly {
    readonly group: string;
    readonly protocolType: string;
    /** Empty below version 4. */
    readonly state: string;
  }[];
};

/** The groups that one broker coordinates. */
export const listGroups = requestCodec<ListGroupsRequest, ListGroupsResponse>({
  name: 'ListGroups',
  apiKey: 16,
  minVersion: 3,
  maxVersion: 4,
  flexibleFrom: 3,
  write(writer, request, version) {
    if (version >= 4) writer.stringArray(request.states);
  },
  read(reader, version) {
    reader.int32();
    const errorCode = reader.int16();
    const groups = reader.array(() => {
      const item = {
        group: reader.string(),
        protocolType: reader.string(),
        state: version >= 4 ? reader.string() : '',
      };
      reader.tags();
      return item;
    });
    return { errorCode, groups };
  },
});
