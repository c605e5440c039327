import { assert } from '../../../base/assert.ts';
import { requestCodec } from './request-codec.ts';

export type FindCoordinatorRequest = {
  readonly keyType: 'group' | 'transaction';
  /** Exactly one below version 4. */
  readonly keys: readonly string[];
};

export type Coordinator = {
  /** Empty below version 4: the one key that was asked for. */
  readonly key: string;
  readonly nodeId: number;
  readonly host: string;
  readonly port: number;
  readonly errorCode: number;
  readonly errorMessage: string | null;
};

export type FindCoordinatorResponse = { readonly coordinators: readonly Coordinator[] };

/** Which broker coordinates a group or a transactional id. */
export const findCoordinator = requestCodec<FindCoordinatorRequest, FindCoordinatorResponse>({
  name: 'FindCoordinator',
  apiKey: 10,
  minVersion: 0,
  maxVersion: 4,
  flexibleFrom: 3,
  write(writer, request, version) {
    const [key] = request.keys;
    const keyType = request.keyType === 'group' ? 0 : 1;
    if (version >= 4) {
      writer.int8(keyType);
      writer.stringArray(request.keys);
      return;
    }
    assert(
      key !== undefined && request.keys.length === 1,
      'one coordinator is asked for at a time',
    );
    writer.string(key);
    if (version >= 1) writer.int8(keyType);
    else assert(keyType === 0, 'version 0 finds groups only');
  },
  read(reader, version) {
    if (version >= 1) reader.int32();
    if (version >= 4) {
      const coordinators = reader.array((): Coordinator => {
        const coordinator = {
          key: reader.string(),
          nodeId: reader.int32(),
          host: reader.string(),
          port: reader.int32(),
          errorCode: reader.int16(),
          errorMessage: reader.nullableString(),
        };
        reader.tags();
        return coordinator;
      });
      return { coordinators };
    }
    const errorCode = reader.int16();
    const errorMessage = version >= 1 ? reader.nullableString() : null;
    const node = { nodeId: reader.int32(), host: reader.string(), port: reader.int32() };
    return { coordinators: [{ key: '', ...node, errorCode, errorMessage }] };
  },
});
