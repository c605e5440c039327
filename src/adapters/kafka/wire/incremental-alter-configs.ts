import type { ConfigResource } from './config-resource.ts';
import { requestCodec } from './request-codec.ts';

export type ConfigOperation = 'set' | 'delete' | 'append' | 'subtract';

const operationCodes: Readonly<Record<ConfigOperation, number>> = {
  set: 0,
  delete: 1,
  append: 2,
  subtract: 3,
};

export type IncrementalAlterConfigsRequest = {
  readonly resources: readonly (ConfigResource & {
    readonly configs: readonly {
      readonly name: string;
      readonly operation: ConfigOperation;
      readonly value: string | null;
    }[];
  })[];
  readonly validateOnly: boolean;
};

export type IncrementalAlterConfigsResponse = {
  readonly resources: readonly (ConfigResource & {
    readonly errorCode: number;
    readonly errorMessage: string | null;
  })[];
};

/** Changes single settings and leaves the others alone. */
export const incrementalAlterConfigs = requestCodec<
  IncrementalAlterConfigsRequest,
  IncrementalAlterConfigsResponse
>({
  name: 'IncrementalAlterConfigs',
  apiKey: 44,
  minVersion: 0,
  maxVersion: 1,
  flexibleFrom: 1,
  write(writer, request) {
    writer.array(request.resources, (resource) => {
      writer.int8(resource.resourceType);
      writer.string(resource.resourceName);
      writer.array(resource.configs, (config) => {
        writer.string(config.name);
        writer.int8(operationCodes[config.operation]);
        writer.nullableString(config.value);
        writer.tags();
      });
      writer.tags();
    });
    writer.boolean(request.validateOnly);
  },
  read(reader) {
    reader.int32();
    const resources = reader.array(() => {
      const resource = {
        errorCode: reader.int16(),
        errorMessage: reader.nullableString(),
        resourceType: reader.int8(),
        resourceName: reader.string(),
      };
      reader.tags();
      return resource;
    });
    return { resources };
  },
});
