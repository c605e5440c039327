import { expect, test } from 'vitest';
import { flowReport } from '../../../src/cli/status.ts';
import type { FlowStatus } from '../../../src/runtime/inspect/pipeline-status.ts';

test('what lies between the stages is an alarm where rows are handed on exactly once', () => {
  const status = {
    flow: 'f',
    table: 't',
    kind: 'replace_using',
    group: 'p.f',
    topics: [{ stage: 'repartition', topic: 'p.f.repartition', exists: true, partitions: [] }],
    betweenStages: 3,
    lostAccounts: [],
    formerFeeds: [],
  } as unknown as FlowStatus;
  expect(flowReport(status, true).difference).toBe(3);
  // A process that died had handed them on, and the next one does it again.
  expect(flowReport(status, false).difference).toBe(0);
});
