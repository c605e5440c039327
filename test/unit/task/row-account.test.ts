import { expect, test } from 'vitest';
import {
  emptyFlowCounters,
  emptyTableCounters,
  flowMetadata,
  parseFlowMetadata,
  parseTableMetadata,
  tableMetadata,
} from '../../../src/task/row-account.ts';

test('EX-02 counters ride through the checkpoint metadata, expectations by their names', () => {
  const counters = emptyFlowCounters(['a', 'b']);
  counters.records = 12;
  counters.expectations[1] = { name: 'b', passed: 3, failed: 4 };
  const read = parseFlowMetadata(flowMetadata(counters), ['b', 'c']);
  expect(read?.records).toBe(12);
  expect(read?.expectations).toEqual([
    { name: 'b', passed: 3, failed: 4 },
    { name: 'c', passed: 0, failed: 0 },
  ]);
  const table = { ...emptyTableCounters(), tied: 5, distinct: 2 };
  expect(parseTableMetadata(tableMetadata(table))).toEqual(table);
});

test('P113 metadata that is not ours is told apart from none', () => {
  expect(parseFlowMetadata('', [])).toEqual(emptyFlowCounters([]));
  for (const text of ['garbage', '{}', '["t1",[1]]', '["f1",["x"],[]]', 'null']) {
    expect(parseFlowMetadata(text, [])).toBeUndefined();
  }
  expect(parseTableMetadata('["f1",[]]')).toBeUndefined();
});
