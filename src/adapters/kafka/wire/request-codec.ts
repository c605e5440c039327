import { assert } from '../../../base/assert.ts';
import { RequestWriter } from './request-writer.ts';
import { ResponseReader } from './response-reader.ts';

/**
 * One kind of request: how its body is written and its reply is read, for each version that we speak.
 * Bodies only: size, api key, version, correlation id and client id belong to the connection, the tag
 * section that ends a flexible header to `encodeBody` and `decodeBody`.
 * Invariant: encode writes, and decode reads, exactly the fields of the given version.
 */
export type RequestCodec<Request, Response> = {
  readonly name: string;
  readonly apiKey: number;
  readonly minVersion: number;
  readonly maxVersion: number;
  /** The first version with compact lengths and tags (request header v2, response header v1). */
  readonly flexibleFrom: number;
  /** ApiVersions alone keeps the plain response header, since it is read before versions are known. */
  readonly plainResponseHeader: boolean;
  /** The body, as buffers in order; record batches are among them as given, not copied. */
  encode(version: number, request: Request): Buffer[];
  decode(version: number, reader: ResponseReader): Response;
};

type Definition<Request, Response> = {
  readonly name: string;
  readonly apiKey: number;
  readonly minVersion: number;
  readonly maxVersion: number;
  readonly flexibleFrom: number;
  readonly plainResponseHeader?: boolean;
  readonly write: (writer: RequestWriter, request: Request, version: number) => void;
  readonly read: (reader: ResponseReader, version: number) => Response;
};

/** Makes a codec of a pair of functions; the tag section at the end of the body is added here. */
export function requestCodec<Request, Response>(
  definition: Definition<Request, Response>,
): RequestCodec<Request, Response> {
  const { write, read, ...facts } = definition;
  const check = (version: number): void => {
    assert(
      version >= facts.minVersion && version <= facts.maxVersion,
      `${facts.name} is not written for version ${version}`,
    );
  };
  return {
    plainResponseHeader: false,
    ...facts,
    encode(version, request) {
      check(version);
      const writer = new RequestWriter(version >= facts.flexibleFrom);
      write(writer, request, version);
      writer.tags();
      return writer.finish();
    },
    decode(version, reader) {
      check(version);
      return read(reader, version);
    },
  };
}

type Versions = { readonly minVersion: number; readonly maxVersion: number };

/** The newest version that both sides speak, or undefined when there is none. */
export function commonVersion(
  codec: Versions & { readonly apiKey: number },
  broker: Versions | undefined,
): number | undefined {
  if (broker === undefined) return undefined;
  const version = Math.min(codec.maxVersion, broker.maxVersion);
  return version >= Math.max(codec.minVersion, broker.minVersion) ? version : undefined;
}

const emptyTags = Buffer.from([0]);

/** What follows the client id on the wire: the rest of the header, then the body. */
export function encodeBody<Request>(
  codec: RequestCodec<Request, unknown>,
  version: number,
  request: Request,
): Buffer[] {
  const body = codec.encode(version, request);
  return version >= codec.flexibleFrom ? [emptyTags, ...body] : body;
}

/** Reads what follows the correlation id on the wire. */
export function decodeBody<Response>(
  codec: RequestCodec<never, Response>,
  version: number,
  bytes: Buffer,
): Response {
  const reader = new ResponseReader(bytes, version >= codec.flexibleFrom);
  if (!codec.plainResponseHeader) reader.tags();
  return codec.decode(version, reader);
}
