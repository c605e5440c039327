import { describe, expect, test } from 'vitest';
import { alternatives } from '../../../src/refresh/alternatives.ts';
import { flowChanges } from '../../../src/refresh/changes.ts';
import { successionChanges } from '../../../src/refresh/succession-changes.ts';
import { type Definition, deployed } from '../../support/deployed-definition.ts';

const low = "SELECT k, seq, n, v FROM STREAM(s) WHERE k < 'm'";
const high = "SELECT k, seq, n, upper(v) AS v FROM STREAM(s) WHERE k >= 'm'";
const other = 'SELECT k, seq, n, v FROM STREAM(r)';
const exploded = (list: string) => `SELECT k, seq, explode(${list}) AS n, v FROM STREAM(s)`;

function united(...sides: string[]): Definition {
  return { query: sides.join(' UNION ALL ') };
}

function changes(before: Definition, after: Definition): string[] {
  return flowChanges(deployed(before), deployed(after)).map(({ id, effect }) => `${id} ${effect}`);
}

function refused(before: Definition, after: Definition): string[] {
  return successionChanges(deployed(before), deployed(after)).map(({ id }) => id);
}

describe('FR-20 sides of a UNION ALL over one topic', () => {
  test.each([
    ['took each other’s place', united(low, high), united(high, low)],
    [
      'took each other’s place, with a column more',
      united(low, high),
      united(
        high.replace('upper(v) AS v', 'upper(v) AS v, big'),
        low.replace('n, v FROM', 'n, v, big FROM'),
      ),
    ],
    [
      'differ in nothing but what they compute',
      united(
        'SELECT k, seq, n, v FROM STREAM(s)',
        'SELECT k, seq, n, lower(v) AS v FROM STREAM(s)',
      ),
      united(
        'SELECT k, seq, n, lower(v) AS v FROM STREAM(s)',
        'SELECT k, seq, n, v FROM STREAM(s)',
      ),
    ],
  ])('%s', (_, before, after) => {
    expect(changes(before, after)).toContain('FR-20 refresh');
  });

  test('a side that is filtered otherwise is the same side', () => {
    const narrower = low.replace("'m'", "'f'");
    expect(changes(united(low, high), united(narrower, high))).toEqual(['FR-11 compatible']);
    expect(changes(united(low, other), united(narrower, other))).toEqual(['FR-11 compatible']);
  });
});

describe('FR-28 DISTINCT tells rows apart by all their columns, as they are written', () => {
  const distinct = (columns: string): Definition => ({
    query: `SELECT DISTINCT ${columns} FROM STREAM(s)`,
  });

  test.each([
    ['in another order', distinct('v, n, seq, k')],
    ['with one more', distinct('k, seq, n, v, big')],
    ['of another form', distinct('k, seq, CAST(n AS DOUBLE) AS n, v')],
  ])('%s', (_, after) => {
    expect(changes(distinct('k, seq, n, v'), after)).toContain('FR-28 refresh');
    expect(refused(distinct('k, seq, n, v'), after)).toContain('FR-28');
  });

  test('a wider whole number is written alike', () => {
    expect(
      changes(distinct('k, seq, n, v'), distinct('k, seq, CAST(n AS BIGINT) AS n, v')),
    ).toEqual(['FR-14 compatible']);
  });
});

describe('FR-38 a flow of another name whose rows would have other numbers or another order is refused', () => {
  test.each([
    [
      'EXPLODE of something else',
      { query: exploded('list') },
      { query: exploded('array_distinct(list)') },
      'FR-11',
    ],
    ['one of two sides over a topic', united(low, high), united(high), 'FR-20'],
    ['a side more over a topic', united(low), united(low, high), 'FR-20'],
    ['sides in another order', united(low, other), united(other, low), 'FR-20'],
    ['only the second source', united(low, other), united(other), 'FR-20'],
    ['another time zone', {}, { settings: "SET TIME ZONE 'Asia/Tokyo';" }, 'FR-11'],
    ['another sequence', {}, { sequence: 'n' }, 'FR-28'],
    [
      'a sequence that is computed otherwise',
      {},
      { query: 'SELECT k, big AS seq, n, v FROM STREAM(s)' },
      'FR-28',
    ],
    [
      'a key that is computed otherwise',
      {},
      { query: 'SELECT upper(k) AS k, seq, n, v FROM STREAM(s)' },
      'FR-13',
    ],
  ] as const)('%s', (_, before, after, id) => {
    expect(refused(before, after)).toContain(id);
  });

  test.each([
    ['a further source', united(low), united(low, other)],
    ['without its last source', united(low, other), united(low)],
    ['a source of another topic', united(low), united(other)],
    ['other values', {}, { query: 'SELECT k, seq, n, upper(v) AS v FROM STREAM(s)' }],
    ['another filter', {}, { query: 'SELECT k, seq, n, v FROM STREAM(s) WHERE n > 0' }],
  ] as const)('it may have %s', (_, before, after) => {
    expect(refused(before, after)).toEqual([]);
  });

  test('and it is offered only where it is not', () => {
    const names = { flow: 't', table: 't', kind: 'replace_using' };
    const offered = (before: Definition, after: Definition): string =>
      alternatives(flowChanges(deployed(before), deployed(after)), {
        ...names,
        canBeSucceeded: refused(before, after).length === 0,
      }).join(' ');
    expect(offered(united(low), united(low, other))).toMatch(/new name/);
    expect(offered({ query: exploded('list') }, { query: exploded('array(n)') })).not.toMatch(
      /new name/,
    );
  });
});
