import type { ConfigResource } from './config-resource.ts';
import { requestCodec } from './request-codec.ts';

export type DescribeConfigsRequest = {
  readonly resources: readonly (ConfigResource & {
    /** null: all. */
    readonly names: readonly string[] | null;
  })[];
};

export type DescribedConfig = {
  readonly name: string;
  /** null: sensitive, or not set. */
  readonly value: string | null;
  readonly readOnly: boolean;
  /** 1 topic, 2 to 4 broker, 5 default. */
  readonly source: number;
  readonly sensitive: boolean;
};

export type DescribeConfigsResponse = {
  readonly resources: readonly (ConfigResource & {
    readonly errorCode: number;
    readonly errorMessage: string | null;
    readonly configs: readonly DescribedConfig[];
  })[];
};

/** Effective settings of topics and brokers. */
export const describeConfigs = requestCodec<DescribeConfigsRequest, DescribeConfigsResponse>({
  name: 'DescribeConfigs',
  apiKey: 32,
  minVersion: 1,
  maxVersion: 4,
  flexibleFrom: 4,
  write(writer, request, version) {
    writer.array(request.resources, (resource) => {
      writer.int8(resource.resourceType);
      writer.string(resource.resourceName);
      writer.nullableArray(resource.names, (name) => writer.string(name));
      writer.tags();
    });
    writer.boolean(false);
    if (version >= 3) writer.boolean(false);
  },
  read(reader, version) {
    reader.int32();
    const readConfig = (): DescribedConfig => {
      const config = {
        name: reader.string(),
        value: reader.nullableString(),
        readOnly: reader.boolean(),
        source: reader.int8(),
        sensitive: reader.boolean(),
      };
      reader.array(() => {
        reader.string();
        reader.nullableString();
        reader.int8();
        reader.tags();
      });
      if (version >= 3) {
        reader.int8();
        reader.nullableString();
      }
      reader.tags();
      return config;
    };
    const resources = reader.array(() => {
      const resource = {
        errorCode: reader.int16(),
        errorMessage: reader.nullableString(),
        resourceType: reader.int8(),
        resourceName: reader.string(),
        configs: reader.array(readConfig),
      };
      reader.tags();
      return resource;
    });
    return { resources };
  },
});
