import { expect, test } from 'vitest';
import {
  firstPartitions,
  isAddedSince,
  markedPartitions,
} from '../../../src/runtime/takeover/added-partitions.ts';
import { type KnownCatalog, noCatalog } from '../../../src/runtime/topics/catalog.ts';

type Marks = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

function catalogOf(marks: Marks): KnownCatalog {
  return {
    ...noCatalog,
    get: (kind, name) => {
      const value = kind === 'checkpoint' ? marks[name] : undefined;
      return value && { kind, name, value, offset: 0 };
    },
  };
}

const rows: readonly (readonly [title: string, marks: Marks, partition: number, boolean])[] = [
  ['nothing was read of the topic', {}, 1, false],
  [
    'it was there when the other one was read first',
    { 'f/a/0': { topicId: 'x', partitions: 2 } },
    1,
    false,
  ],
  ['it came later', { 'f/a/0': { topicId: 'x', partitions: 1 } }, 1, true],
  ['two came later', { 'f/a/0': { topicId: 'x', partitions: 1 } }, 2, true],
  [
    'one of two came later, and the other one first',
    { 'f/a/0': { topicId: 'x', partitions: 1 }, 'f/a/1': { topicId: 'x', partitions: 3 } },
    2,
    true,
  ],
  ['the topic was another one then', { 'f/a/0': { topicId: 'y', partitions: 1 } }, 1, false],
  ['another topic was read', { 'f/b/0': { topicId: 'x', partitions: 1 } }, 1, false],
  ['another flow has read it', { 'g/a/0': { topicId: 'x', partitions: 1 } }, 1, false],
  ['nobody knows how many there were', { 'f/a/0': { topicId: 'x' } }, 1, false],
];

test.each(rows)('P047 FR-12 a partition was added: %s', (_title, marks, partition, isAdded) => {
  const place = { flow: 'f', topic: 'a', topicId: 'x', partition };
  expect(isAddedSince(catalogOf(marks), place)).toBe(isAdded);
});

test('a mark that is written anew keeps the first count, and one of another topic begins anew', () => {
  expect(firstPartitions({ topicId: 'x', partitions: 1 }, 'x', 3)).toBe(1);
  expect(firstPartitions({ topicId: 'y', partitions: 1 }, 'x', 3)).toBe(3);
  expect(firstPartitions(undefined, 'x', 3)).toBe(3);
  expect(markedPartitions({ topicId: 'x' }, 'x')).toBeUndefined();
});
