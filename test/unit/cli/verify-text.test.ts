import { expect, test } from 'vitest';
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
