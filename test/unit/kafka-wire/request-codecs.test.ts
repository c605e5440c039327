import { readdirSync, readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { apiVersions } from '../../../src/adapters/kafka/wire/api-versions.ts';
import {
  commonVersion,
  decodeBody,
  encodeBody,
} from '../../../src/adapters/kafka/wire/request-codec.ts';
import { ResponseReader } from '../../../src/adapters/kafka/wire/response-reader.ts';
import { InvariantError } from '../../../src/base/assert.ts';
import { FlowError } from '../../../src/base/errors.ts';
import { type MessageExample, messageExamples } from './message-examples.ts';
import { ofVersion, parseSchema, readMessage, writeMessage } from './message-schema.ts';

const cases = messageExamples.flatMap((example) => {
  const { minVersion, maxVersion, name } = example.codec;
  return Array.from({ length: maxVersion - minVersion + 1 }, (_, index) => ({
    title: `${name} v${minVersion + index}`,
    version: minVersion + index,
    example,
  }));
});

function isFlexible({ codec }: MessageExample, version: number): boolean {
  return version >= codec.flexibleFrom;
}

function wireResponse(example: MessageExample, version: number): Buffer {
  const schema = parseSchema(example.responseSchema);
  return writeMessage(schema, example.wireResponse, version, isFlexible(example, version));
}

describe.each(cases)('$title', ({ example, version }) => {
  const { codec } = example;
  const flexible = isFlexible(example, version);

  test('writes the request', () => {
    const schema = parseSchema(example.requestSchema);
    const body = Buffer.concat(codec.encode(version, example.request(version) as never));
    const wire = readMessage(schema, body, version, flexible);
    const expected = ofVersion(schema, example.wireRequest, version);
    expect(wire).toEqual(expected);
  });

  test('reads the whole reply', () => {
    const bytes = wireResponse(example, version);
    const reader = new ResponseReader(bytes, flexible);
    expect(codec.decode(version, reader)).toEqual(example.response(version));
    // What may be left is the tag section of the message, which holds nothing that we know.
    expect(reader.remaining).toBeLessThanOrEqual(flexible ? 1 : 0);
  });

  test('refuses a reply that is cut short anywhere', () => {
    const bytes = wireResponse(example, version);
    const needed = bytes.length - (flexible && codec.apiKey !== apiVersions.apiKey ? 1 : 0);
    for (let length = 0; length < needed; length += 1) {
      const reader = new ResponseReader(bytes.subarray(0, length), flexible);
      expect(() => codec.decode(version, reader)).toThrow(FlowError);
    }
  });

  test('reads damaged replies or refuses them, and never hangs', () => {
    const bytes = wireResponse(example, version);
    fc.assert(
      fc.property(fc.nat(bytes.length - 1), fc.nat(255), fc.nat(3), (at, byte, width) => {
        const damaged = Buffer.from(bytes);
        damaged.fill(byte, at, Math.min(at + width + 1, bytes.length));
        return decodesOrRefuses(example, version, damaged);
      }),
      { numRuns: 200 },
    );
  });
});

function decodesOrRefuses(example: MessageExample, version: number, bytes: Buffer): boolean {
  try {
    example.codec.decode(version, new ResponseReader(bytes, isFlexible(example, version)));
    return true;
  } catch (error) {
    return error instanceof FlowError && error.code === 'RECORD_CORRUPT';
  }
}

test('random bytes are read or refused by every codec', () => {
  const arbitraryCase = fc.constantFrom(...cases);
  fc.assert(
    fc.property(arbitraryCase, fc.uint8Array({ maxLength: 200 }), ({ example, version }, bytes) =>
      decodesOrRefuses(example, version, Buffer.from(bytes)),
    ),
    { numRuns: 5000 },
  );
});

test('every codec has an example', () => {
  const folder = new URL('../../../src/adapters/kafka/wire/', import.meta.url);
  const written = readdirSync(folder).flatMap((file) => {
    const name = /= requestCodec<[^(]*>\(\{\s*name: '(\w+)'/.exec(
      readFileSync(new URL(file, folder), 'utf8'),
    );
    return name?.[1] ?? [];
  });
  expect(written.toSorted()).toEqual(messageExamples.map(({ codec }) => codec.name).toSorted());
  expect(written).toHaveLength(27);
});

test('tags that are not known are passed over', () => {
  const bytes = Buffer.from(
    '0000' + '02' + '00000003000b' + '01050100' + '00000000' + '0109026869',
    'hex',
  );
  const reader = new ResponseReader(bytes, true);
  expect(apiVersions.decode(3, reader).apis).toEqual(
    new Map([[0, { minVersion: 3, maxVersion: 11 }]]),
  );
  expect(reader.remaining).toBe(0);
});

test('ApiVersions: the features that the cluster agreed on', () => {
  const features = '02' + '14' + Buffer.from('transaction.version').toString('hex') + '0002000200';
  const tag = '02' + (features.length / 2).toString(16);
  const bytes = Buffer.from(`0000` + '01' + '00000000' + '01' + tag + features, 'hex');
  const { finalizedFeatures } = decodeBody(apiVersions, 3, bytes);
  expect(finalizedFeatures).toEqual(new Map([['transaction.version', 2]]));
});

test('ApiVersions: a broker that does not know the version answers in version 0', () => {
  const bytes = Buffer.from('0023' + '00000001' + '001200000002', 'hex');
  expect(decodeBody(apiVersions, 4, bytes)).toEqual({
    errorCode: 35,
    apis: new Map(),
    finalizedFeatures: new Map(),
  });
});

test('bodies carry the tag section of a flexible header', () => {
  for (const { example, version } of cases) {
    const { codec } = example;
    const flexible = isFlexible(example, version);
    const request = example.request(version) as never;
    const plain = Buffer.concat(codec.encode(version, request));
    const body = Buffer.concat(encodeBody(codec, version, request));
    expect(body).toEqual(flexible ? Buffer.concat([Buffer.from([0]), plain]) : plain);
    const header = Buffer.alloc(flexible && !codec.plainResponseHeader ? 1 : 0);
    const reply = Buffer.concat([header, wireResponse(example, version)]);
    expect(decodeBody(codec, version, reply)).toEqual(example.response(version));
  }
});

test('a version that is not written is a bug', () => {
  const [first] = messageExamples;
  const { codec } = first as MessageExample;
  const request = { clientSoftwareName: 'a', clientSoftwareVersion: '1' } as never;
  expect(() => codec.encode(codec.maxVersion + 1, request)).toThrow(InvariantError);
  expect(() => codec.encode(codec.minVersion - 1, request)).toThrow(InvariantError);
});

test('the newest common version is chosen', () => {
  const ours = { apiKey: 1, minVersion: 11, maxVersion: 16 };
  expect(commonVersion(ours, { minVersion: 4, maxVersion: 13 })).toBe(13);
  expect(commonVersion(ours, { minVersion: 4, maxVersion: 99 })).toBe(16);
  expect(commonVersion(ours, { minVersion: 0, maxVersion: 10 })).toBeUndefined();
  expect(commonVersion(ours, { minVersion: 17, maxVersion: 18 })).toBeUndefined();
  expect(commonVersion(ours, undefined)).toBeUndefined();
});
