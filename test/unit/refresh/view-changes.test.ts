import { describe, expect, test } from 'vitest';
import { type ViewDefinition, viewDefinition } from '../../../src/plan/flows/view-definition.ts';
import { planPipeline } from '../../../src/plan/plan-pipeline.ts';
import { deploymentPlan } from '../../../src/refresh/deployment-plan.ts';
import { readViewDefinition, viewChanges } from '../../../src/refresh/view-changes.ts';

function view(query: string): ViewDefinition {
  const text = `
CREATE SOURCE s (k STRING, seq BIGINT, n INT) WITH (topic = 'st');
CREATE STREAMING TABLE t FLOW REPLACE USING (k) SEQUENCE BY seq BY NAME SELECT * FROM STREAM(s);
CREATE STREAMING TABLE u FLOW REPLACE USING (k) SEQUENCE BY seq BY NAME SELECT * FROM STREAM(s);
CREATE MATERIALIZED VIEW m AS ${query};`;
  const { plan, faults } = planPipeline([{ file: 'a.sql', text }]);
  const found = plan?.materializedViews[0];
  const table = plan?.tables.find(({ name }) => name === 'm');
  if (found === undefined || table === undefined) throw new Error(JSON.stringify(faults));
  // As it comes back from the catalog.
  const stored = JSON.parse(JSON.stringify(viewDefinition(found, table))) as Record<
    string,
    unknown
  >;
  const read = readViewDefinition(stored);
  if (read === undefined) throw new Error('a stored definition is readable');
  return read;
}

const usual = 'SELECT k, count(*) AS c FROM t GROUP BY k';

describe('each change of a materialized view is classified', () => {
  test.each([
    ['the same query, written otherwise', 'SELECT k,  count( * ) AS c\nFROM t GROUP BY k', []],
    [
      'FR-25 an aggregate added',
      'SELECT k, count(*) AS c, sum(n) AS s FROM t GROUP BY k',
      ['FR-25'],
    ],
    ['FR-25 the aggregation removed', 'SELECT k, n AS c FROM t', ['FR-25', 'FR-24']],
    ['FR-24 another function', 'SELECT k, max(n) AS c FROM t GROUP BY k', ['FR-24']],
    ['FR-24 another key', 'SELECT seq, count(*) AS c FROM t GROUP BY seq', ['FR-24']],
    [
      'FR-27 a join added',
      'SELECT t.k, count(*) AS c FROM t JOIN u ON t.k = u.k GROUP BY t.k',
      ['FR-27'],
    ],
    ['FR-11 a filter', 'SELECT k, count(*) AS c FROM t WHERE n > 0 GROUP BY k', ['FR-11']],
  ])('%s', (_, query, expected) => {
    const changes = viewChanges(view(usual), view(query));
    expect(changes.map(({ id }) => id)).toEqual(expected);
    expect(viewChanges(view(query), view(usual)).length > 0).toBe(expected.length > 0);
  });

  test('FR-26 another kind of join, or another key', () => {
    const joined = (join: string): ViewDefinition => view(`SELECT t.k, u.n FROM t ${join}`);
    const before = joined('JOIN u ON t.k = u.k');
    for (const join of ['LEFT JOIN u ON t.k = u.k', 'JOIN u ON t.seq = u.seq']) {
      expect(viewChanges(before, joined(join)).map(({ id }) => id)).toEqual(['FR-26']);
    }
  });
});

test('FR-25 a view that changed is computed anew, never refused; what is not there is told', () => {
  const [before, after] = [view(usual), view('SELECT k, min(n) AS c FROM t GROUP BY k')];
  const { views } = deploymentPlan({
    flows: [],
    deployed: [],
    views: [
      { name: 'changed', definition: after },
      { name: 'same', definition: before },
      { name: 'fresh', definition: before },
    ],
    deployedViews: [
      { name: 'changed', definition: before },
      { name: 'same', definition: before },
      { name: 'left', definition: before },
    ],
    topics: [],
    gaps: new Map(),
  });
  expect(views.map(({ view: name, status }) => [name, status])).toEqual([
    ['changed', 'recomputed'],
    ['same', 'unchanged'],
    ['fresh', 'new'],
    ['left', 'gone'],
  ]);
});

test('FR-16 a REPLACE WHERE flow whose kept rows lack a column is refused, and not called computed anew', () => {
  const keeping = (name: string) => ({
    ...view(usual),
    keeps: { table: 'daily', columns: [{ name, type: { kind: 'string' } as const }] },
  });
  const of = (definition: ViewDefinition, deployed: string) =>
    deploymentPlan({
      flows: [],
      deployed: [],
      views: [{ name: 'daily', definition }],
      deployedViews: [{ name: deployed, definition: keeping('day') }],
      topics: [],
      gaps: new Map(),
    }).views[0];
  expect(of(keeping('date'), 'daily')).toMatchObject({
    status: 'refused',
    changes: [{ id: 'FR-16', effect: 'refresh' }],
  });
  // Whatever the name of the flow was that wrote them.
  expect(of(keeping('date'), 'former')).toMatchObject({ status: 'refused' });
  expect(of(keeping('day'), 'daily')).toMatchObject({ status: 'unchanged' });
});

test.each([undefined, {}, { groups: [], aggregates: [], joins: [] }, { groups: 'k' }])(
  'an entry of another form is no definition: %o',
  (value) => {
    expect(readViewDefinition(value)).toBeUndefined();
  },
);
