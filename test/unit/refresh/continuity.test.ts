import { expect, test } from 'vitest';
import {
  type CheckpointFacts,
  decideCheckpoint,
  gapText,
} from '../../../src/refresh/continuity.ts';

const facts: CheckpointFacts = {
  flow: 'cur',
  topic: 'orders',
  partition: 0,
  committed: 4,
  checkpointTopicId: 'aaaa',
  topicId: 'aaaa',
  start: 2,
  end: 9,
};

type Row = [
  title: string,
  facts: Partial<CheckpointFacts>,
  position: number | undefined,
  kind?: string,
  lost?: number,
];

const rows: Row[] = [
  ['P115 a checkpoint inside of the log is valid', {}, 4],
  ['a checkpoint at the log start is valid', { committed: 2 }, 2],
  ['a checkpoint at the log end is valid', { committed: 9 }, 9],
  ['P047 retention has overtaken the checkpoint', { committed: 1 }, undefined, 'expired', 1],
  ['the log ends before the checkpoint', { committed: 10 }, undefined, 'shrunk'],
  ['P053 the topic was recreated', { topicId: 'bbbb' }, undefined, 'recreated'],
  [
    'a recreated topic counts before a lost checkpoint',
    { topicId: 'bbbb', committed: undefined },
    undefined,
    'recreated',
  ],
  [
    'FR-22 the topic is on another cluster',
    { topicId: 'bbbb', checkpointClusterId: 'one', clusterId: 'two' },
    undefined,
    'moved',
  ],
  [
    'FR-23 the topic was recreated on the same cluster',
    { topicId: 'bbbb', checkpointClusterId: 'one', clusterId: 'one' },
    undefined,
    'recreated',
  ],
  [
    'a cluster that gets another id keeps its topics',
    { checkpointClusterId: 'one', clusterId: 'two' },
    4,
  ],
  ['P051 FR-30 the checkpoint is gone', { committed: undefined }, undefined, 'checkpoint_lost'],
  [
    'a first start reads from the earliest offset',
    { committed: undefined, checkpointTopicId: undefined },
    2,
  ],
  [
    'P047 an added partition has lost its first records before they were read',
    { committed: undefined, checkpointTopicId: undefined, isAdded: true },
    undefined,
    'expired',
    2,
  ],
  [
    'an added partition whose first record is there is read from it on',
    { committed: undefined, checkpointTopicId: undefined, isAdded: true, start: 0 },
    0,
  ],
  ['an added partition that has a checkpoint goes on from there', { isAdded: true }, 4],
  [
    'a checkpoint of an added partition that is gone is lost',
    { committed: undefined, isAdded: true },
    undefined,
    'checkpoint_lost',
  ],
  ['a checkpoint from before it was recorded goes on', { checkpointTopicId: undefined }, 4],
];

test.each<Row>(rows)('%s', (_title, changed, position, kind, lost) => {
  const decision = decideCheckpoint({ ...facts, ...changed });
  if (position !== undefined) {
    expect(decision).toEqual({ decision: 'go_on', position });
    return;
  }
  expect(decision).toMatchObject({ decision: 'gap', gap: { kind, to: 2, lostRecords: lost } });
  if (decision.decision === 'gap') {
    expect(gapText(decision.gap)).toContain('"orders", partition 0');
    expect(decision.gap.id).toMatch(/^cur\/orders\/0@/);
  }
});
