import { describe, expect, test } from 'vitest';
import { flowChanges } from '../../../src/refresh/changes.ts';
import { deployed } from '../../support/deployed-definition.ts';

const plain = { query: 'SELECT k, seq, n, v FROM STREAM(s)' };
const joined = (on: string, select = 'a.k, a.seq, b.n', left = 'STREAM(s)') => ({
  query: `SELECT ${select} FROM ${left} a JOIN STREAM(r) b ON ${on}`,
});

function changes(before: object, after: object, join = ''): string[] {
  return flowChanges(deployed(before, join), deployed(after, join)).map(
    ({ id, effect }) => `${id} ${effect}`,
  );
}

describe('changes of joins of two streams', () => {
  test('FR-27 a join that comes or goes', () => {
    expect(changes(plain, joined('a.k = b.k'))).toContain('FR-27 refresh');
    expect(changes(joined('a.k = b.k'), plain)).toContain('FR-27 refresh');
  });

  test('FR-26 other keys, another condition', () => {
    const before = joined('a.k = b.k AND a.n < b.n');
    expect(changes(before, joined('a.k = b.k2 AND a.n < b.n'), '.join')).toContain('FR-26 refresh');
    expect(changes(before, joined('a.k = b.k AND a.n <= b.n'), '.join')).toEqual(['FR-26 refresh']);
    expect(changes(before, joined('a.k <=> b.k AND a.n < b.n'), '.join')).toContain(
      'FR-26 refresh',
    );
  });

  test('what is spelled otherwise is the same join', () => {
    const other = joined('B.n > A.n AND b.K = a.K', 'a.k, a.seq, b.n', '(SELECT * FROM STREAM(s))');
    const before = joined('b.n > a.n AND a.k = b.k');
    expect(changes(before, other, '.join')).toEqual([]);
    expect(changes(before, other)).toEqual([]);
  });

  test('columns that are not kept any more, and filters of a side, leave the join as it is', () => {
    const before = joined('a.k = b.k');
    expect(changes(before, joined('a.k = b.k', 'a.k, a.seq'), '.join')).toEqual([
      'FR-16 compatible',
    ]);
    const filtered = joined(
      'a.k = b.k',
      'a.k, a.seq, b.n',
      '(SELECT * FROM STREAM(s) WHERE n > 1)',
    );
    expect(changes(before, filtered, '.join')).toEqual(['FR-11 compatible']);
  });

  test('FR-26 a column that is read from now on: what the join keeps lacks it, and is paired with what comes', () => {
    const before = joined('a.k = b.k');
    const more = joined('a.k = b.k', 'a.k, a.seq, b.n, b.v');
    expect(changes(before, more, '.join')).toEqual(['FR-26 refresh']);
    expect(changes(before, more)).toEqual(['FR-18 compatible']);
    const filtered = { query: `${before.query} WHERE a.v <> 'x'` };
    expect(changes(before, filtered, '.join')).toContain('FR-26 refresh');
  });
});
