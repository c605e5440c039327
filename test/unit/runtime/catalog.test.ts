import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { FlowError } from '../../../src/base/errors.ts';
import type { Log, LogReader } from '../../../src/ports/log.ts';
import { Catalog } from '../../../src/runtime/topics/catalog.ts';
import { ParsedTexts } from '../../../src/runtime/topics/parsed-texts.ts';
import type { PipelineWorld } from '../../../src/testing/pipeline/pipeline-world.ts';
import { worldOf } from '../../support/append-world.ts';

const topic = 'test.catalog';
let world: PipelineWorld;
let asked: number;
let reader: LogReader;
let catalog: Catalog;
let other: Catalog;

beforeEach(async () => {
  world = worldOf(
    `CREATE SOURCE s (k STRING, seq BIGINT);
CREATE STREAMING TABLE t FLOW REPLACE USING (k) SEQUENCE BY seq BY NAME SELECT k, seq FROM STREAM(s);`,
    1,
  );
  await world.log.createTopics([
    { name: topic, partitions: 1, replicationFactor: -1, configs: {} },
  ]);
  asked = 0;
  const log = new Proxy<Log>(world.log, {
    get: (target, name) => {
      if (name === 'offsetRanges') asked += 1;
      if (name === 'openReader') {
        return () => {
          reader = target.openReader();
          return reader;
        };
      }
      const member: unknown = Reflect.get(target, name);
      return typeof member === 'function' ? member.bind(target) : member;
    },
  });
  catalog = new Catalog(log, topic);
  other = new Catalog(world.log, topic);
});

afterEach(async () => {
  await catalog.close();
  await other.close();
  world.close();
});

test('whoever follows the catalog hears of changes and deletions, and asks nothing of the log', async () => {
  await other.write([{ kind: 'pause', name: 'a', value: { sinceMs: 1 } }], 1);
  await catalog.follow();
  expect(catalog.get('pause', 'a')?.value['sinceMs']).toBe(1);
  expect(asked).toBe(1);
  await other.write(
    [
      { kind: 'pause', name: 'a', value: undefined },
      { kind: 'pause', name: 'b', value: { sinceMs: 2 } },
    ],
    2,
  );
  await expect
    .poll(async () => {
      await catalog.follow();
      return catalog.all('pause').map(({ name }) => name);
    })
    .toEqual(['b']);
  expect(asked).toBe(1);
  expect(catalog.position).toBe(other.position);
});

test('what was followed and what is read are one: nothing is taken twice or left out', async () => {
  await other.write([{ kind: 'pause', name: 'a', value: { sinceMs: 1 } }], 1);
  await Promise.all([catalog.follow(), catalog.read(), catalog.follow()]);
  await other.write([{ kind: 'pause', name: 'b', value: { sinceMs: 2 } }], 2);
  await Promise.all([catalog.follow(), catalog.read(), catalog.follow()]);
  expect(catalog.all('pause').map(({ name }) => name)).toEqual(['a', 'b']);
});

test('an entry that is deleted and written again is there once, among those of its kind alone', async () => {
  await other.write(
    [
      { kind: 'pause', name: 'a', value: { sinceMs: 1 } },
      { kind: 'lock', name: 'a', value: { sinceMs: 2 } },
      { kind: 'pause', name: 'a', value: undefined },
      { kind: 'pause', name: 'a', value: { sinceMs: 3, v: 1 } },
    ],
    1,
  );
  await catalog.read();
  expect(catalog.all('pause').map(({ value }) => value)).toEqual([{ v: 1, sinceMs: 3 }]);
  expect(catalog.get('lock', 'a')?.value).toEqual({ v: 1, sinceMs: 2 });
  expect(catalog.all('gap')).toEqual([]);
});

test('a text is parsed once, and forgotten after as many others', () => {
  const texts = new ParsedTexts();
  const first = texts.parse('{"a":1}');
  expect(texts.parse('{"a":1}')).toBe(first);
  for (let other = 0; other < 1000; other += 1) texts.parse(`{"b":${other}}`);
  expect(texts.parse('{"a":1}')).not.toBe(first);
  expect(texts.parse('{"a":1}')).toEqual({ a: 1 });
  expect(() => texts.parse('{"a":')).toThrow(SyntaxError);
});

test('P053 a catalog that was made anew is told to everybody who asks, whoever hears of it first', async () => {
  await other.write([{ kind: 'pause', name: 'a', value: { sinceMs: 1 } }], 1);
  await catalog.read();
  const told = new FlowError('TOPIC_RECREATED', `topic "${topic}" is another one`);
  vi.spyOn(reader, 'poll').mockRejectedValueOnce(told).mockResolvedValue([]);
  const lost = { code: 'DEFINITION_MISSING', message: expect.stringContaining(`"${topic}"`) };
  // A reader tells it once, and has nothing to say of the topic from then on.
  await expect(catalog.follow()).rejects.toMatchObject(lost);
  await expect(catalog.follow()).rejects.toMatchObject(lost);
  await expect(catalog.read()).rejects.toMatchObject(lost);
  const entry = { kind: 'pause' as const, name: 'b', value: { sinceMs: 2 } };
  await expect(catalog.write([entry], 2)).rejects.toMatchObject(lost);
  await other.read();
  expect(other.all('pause').map(({ name }) => name)).toEqual(['a']);
});
