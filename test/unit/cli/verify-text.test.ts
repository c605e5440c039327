import { expect, test } from 'vitest';
import { skippedText } from '../../../src/cli/skipped-text.ts';
import { reportText } from '../../../src/cli/verify.ts';

const report = {
  keys: 3,
  rows: 3,
  differences: 1,
  unreadableKeys: 0,
  unknownKeys: 0,
  partTables: [],
  movedKeys: 0,
  badRecords: 0,
};

test('dead letters are named as a reason only of a table that has a topic for them', () => {
  const text = (deadLetterTopic: string | undefined): string =>
    reportText({ name: 't', output: 'row_set', deadLetterTopic }, report);
  expect(text('letters')).toContain('dead letters');
  expect(text(undefined)).toBe('table t: 3 keys with 3 rows compared, 1 differ\n');
});

test('keys whose rows came through a table that lost its beginning are told with the name of that table', () => {
  const part = { ...report, differences: 0, unknownKeys: 2, partTables: ['raw'] };
  expect(reportText({ name: 't', output: 'row_set', deadLetterTopic: undefined }, part)).toContain(
    'of 2 keys the rows came through raw, whose topic lacks its beginning',
  );
});

test('P125 records that a flow steps over are named, since what they would give is compared with nothing', () => {
  const at = (offset: number) => ({ flow: 'f', topic: 'a', partition: 0, offset });
  expect(skippedText([])).toBe('');
  expect(skippedText([at(3)])).toBe(
    '  steps over 1 record that somebody had it skip, so that what they would give is left out: a/0@3 (tidemark checkpoint show f)\n',
  );
  const many = skippedText([1, 2, 3, 4, 5, 6].map(at));
  expect(many).toContain('6 records');
  expect(many).toContain('a/0@5, …');
  expect(many).not.toContain('a/0@6');
});
