import { describe, expect, test } from 'vitest';
import type { Gap, GapKind } from '../../../src/refresh/continuity.ts';
import {
  type DeploymentFacts,
  deploymentPlan,
  type NamedFlow,
  type WantedTopicFacts,
} from '../../../src/refresh/deployment-plan.ts';
import { type Definition, deployed } from '../../support/deployed-definition.ts';

function named(name: string, definition: Definition = {}): NamedFlow {
  return { name, definition: deployed(definition) };
}

function decide(facts: Partial<DeploymentFacts>) {
  return deploymentPlan({
    flows: [],
    deployed: [],
    views: [],
    deployedViews: [],
    topics: [],
    gaps: new Map(),
    ...facts,
  });
}

function statuses(facts: Partial<DeploymentFacts>): Record<string, string> {
  return Object.fromEntries(decide(facts).flows.map(({ flow, status }) => [flow, status]));
}

describe('flows', () => {
  const filtered = { query: 'SELECT k, seq, n, v FROM STREAM(s) WHERE n > 0' };
  const rekeyed = { using: 'v' };

  test.each([
    ['FR-10 a flow that never ran', [named('f')], [], { f: 'new' }],
    ['the same definition', [named('f')], [named('f')], { f: 'unchanged' }],
    ['a compatible change', [named('f', filtered)], [named('f')], { f: 'compatible' }],
    [
      'FL-21 a name used for another definition',
      [named('f', rekeyed)],
      [named('f')],
      { f: 'refresh' },
    ],
    ['a flow that is in the catalog only', [], [named('f')], { f: 'gone' }],
    ['one new, one gone', [named('g', filtered)], [named('f')], { g: 'new', f: 'gone' }],
    [
      'FR-38 a flow of another name that could not take the table over',
      [named('g', rekeyed)],
      [named('f')],
      { g: 'refresh', f: 'gone' },
    ],
  ])('%s', (_, flows, before, expected) => {
    expect(statuses({ flows, deployed: before })).toEqual(expected);
  });

  test('FL-20 a new flow with the query of one that is gone may be a renamed one', () => {
    const [verdict] = decide({ flows: [named('g')], deployed: [named('f')] }).flows;
    expect(verdict).toMatchObject({ status: 'new', renamedFrom: { flow: 'f', carry: true } });
  });

  test('FL-20 what wrote another topic can not be carried over', () => {
    const [verdict] = decide({
      flows: [named('g', { options: "WITH (topic = 'x')" })],
      deployed: [named('f')],
    }).flows;
    expect(verdict?.renamedFrom).toEqual({ flow: 'f', carry: false });
  });

  test('a flow that still runs is no former name', () => {
    const { flows } = decide({ flows: [named('f'), named('g')], deployed: [named('f')] });
    expect(flows.map(({ renamedFrom }) => renamedFrom)).toEqual([undefined, undefined]);
  });

  test('a flow that is refused is told what else can be done', () => {
    const [verdict] = decide({ flows: [named('f', rekeyed)], deployed: [named('f')] }).flows;
    expect(verdict?.alternatives.join(' ')).toContain('tidemark refresh t --plan');
  });
});

describe('checkpoints', () => {
  const gap = (kind: GapKind): Gap => ({
    id: `f/st/0@${kind}`,
    kind,
    flow: 'f',
    topic: 'st',
    partition: 0,
    from: 1,
    to: 2,
    lostRecords: 1,
  });
  test.each([
    ['recreated', 'FR-23'],
    ['moved', 'FR-22'],
    ['expired', 'FR-29'],
    ['shrunk', 'FR-29'],
    ['checkpoint_lost', 'FR-30'],
  ] as const)('%s is %s', (kind, reason) => {
    const { flows } = decide({
      flows: [named('f')],
      deployed: [named('f')],
      gaps: new Map([['f', [gap(kind)]]]),
    });
    expect(flows[0]?.gaps).toEqual([{ ...gap(kind), reason }]);
  });
});

describe('topics', () => {
  const topic: WantedTopicFacts = {
    name: 't',
    role: 'output',
    flow: 'f',
    partitions: 4,
    isDeclared: true,
    existing: undefined,
  };
  test.each([
    ['a topic that is missing', {}, 'create', 4, 'unchanged'],
    ['a topic that is there', { existing: 4 }, 'keep', 4, 'unchanged'],
    ['P091 FR-19 another count than declared', { existing: 8 }, 'conflict', 4, 'refresh'],
    [
      'another count where none is declared',
      { existing: 8, isDeclared: false },
      'keep',
      8,
      'unchanged',
    ],
    [
      'a dead-letter topic of another count',
      { existing: 8, role: 'dead_letter', isDeclared: false },
      'keep',
      8,
      'unchanged',
    ],
  ])('%s', (_, facts, action, partitions, status) => {
    const found = decide({
      flows: [named('f')],
      deployed: [named('f')],
      topics: [{ ...topic, ...facts }],
    });
    expect(found.topics[0]).toMatchObject({ topic: 't', action, partitions });
    expect(found.flows[0]?.status).toBe(status);
  });
});
