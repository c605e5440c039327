import { requestCodec } from './request-codec.ts';

export type DeleteGroupsRequest = { readonly groups: readonly string[] };

export type DeleteGroupsResponse = {
  readonly groups: readonly { readonly group: string; readonly errorCode: number }[];
};

/** Deletes groups that have no members, with their offsets. */
export const deleteGroups = requestCodec<DeleteGroupsRequest, DeleteGroupsResponse>({
  name: 'DeleteGroups',
  apiKey: 42,
  minVersion: 1,
  maxVersion: 2,
  flexibleFrom: 2,
  write(writer, request) {
    writer.stringArray(request.groups);
  },
  read(reader) {
    reader.int32();
    const groups = reader.array(() => {
      const item = { group: reader.string(), errorCode: reader.int16() };
      reader.tags();
      return item;
    });
    return { groups };
  },
});
