import { requestCodec } from './request-codec.ts';
import { zeroUuid } from './response-reader.ts';

export type DeleteTopicsRequest = {
  readonly names: readonly string[];
  readonly timeoutMs: number;
};

export type DeleteTopicsResponse = {
  readonly topics: readonly {
    readonly name: string;
    /** All zero below version 6. */
    readonly topicId: string;
    readonly errorCode: number;
    readonly errorMessage: string | null;
  }[];
};

/** Deletes topics by name. */
export const deleteTopics = requestCodec<DeleteTopicsRequest, DeleteTopicsResponse>({
  name: 'DeleteTopics',
  apiKey: 20,
  minVersion: 4,
  maxVersion: 6,
  flexibleFrom: 4,
  write(writer, request, version) {
    if (version >= 6) {
      writer.array(request.names, (name) => {
        writer.nullableString(name);
        writer.uuid(zeroUuid);
        writer.tags();
      });
    } else {
      writer.stringArray(request.names);
    }
    writer.int32(request.timeoutMs);
  },
  read(reader, version) {
    reader.int32();
    const topics = reader.array(() => {
      const topic = {
        name: reader.string(),
        topicId: version >= 6 ? reader.uuid() : zeroUuid,
        errorCode: reader.int16(),
        errorMessage: version >= 5 ? reader.nullableString() : null,
      };
      reader.tags();
      return topic;
    });
    return { topics };
  },
});
