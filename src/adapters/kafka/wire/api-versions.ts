import { requestCodec } from './request-codec.ts';

export type ApiVersionsRequest = {
  readonly clientSoftwareName: string;
  readonly clientSoftwareVersion: string;
};

export type ApiVersionRange = { readonly minVersion: number; readonly maxVersion: number };

export type ApiVersionsResponse = {
  readonly errorCode: number;
  readonly apis: ReadonlyMap<number, ApiVersionRange>;
  /** Feature → level that the cluster agreed on, such as transaction.version. */
  readonly finalizedFeatures: ReadonlyMap<string, number>;
};

const UNSUPPORTED_VERSION = 35;
const FINALIZED_FEATURES_TAG = 2;

/** Asks a broker which versions of each request it speaks. */
export const apiVersions = requestCodec<ApiVersionsRequest, ApiVersionsResponse>({
  name: 'ApiVersions',
  apiKey: 18,
  minVersion: 3,
  maxVersion: 4,
  flexibleFrom: 3,
  plainResponseHeader: true,
  write(writer, request) {
    writer.string(request.clientSoftwareName);
    writer.string(request.clientSoftwareVersion);
  },
  read(reader) {
    const errorCode = reader.int16();
    const apis = new Map<number, ApiVersionRange>();
    const finalizedFeatures = new Map<string, number>();
    // A broker that does not know the version answers in the form of version 0.
    if (errorCode === UNSUPPORTED_VERSION) return { errorCode, apis, finalizedFeatures };
    reader.array(() => {
      apis.set(reader.int16(), { minVersion: reader.int16(), maxVersion: reader.int16() });
      reader.tags();
    });
    reader.int32();
    reader.tags((tag) => {
      if (tag !== FINALIZED_FEATURES_TAG) return;
      reader.array(() => {
        finalizedFeatures.set(reader.string(), reader.int16());
        reader.int16();
        reader.tags();
      });
    });
    return { errorCode, apis, finalizedFeatures };
  },
});
