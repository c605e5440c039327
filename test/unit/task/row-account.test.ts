import { expect, test } from 'vitest';
import {
  emptyFlowCounters,
  emptyTableCounters,
  flowMetadata,
  movedMetadata,
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
  expect(parseFlowMetadata(movedMetadata, [])).toEqual(emptyFlowCounters([]));
  expect(parseTableMetadata(movedMetadata)).toEqual(emptyTableCounters());
  for (const text of ['', 'garbage', '{}', '["t1",[1]]', '["f1",["x"],[]]', 'null']) {
    expect(parseFlowMetadata(text, [])).toBeUndefined();
  }
  expect(parseTableMetadata('')).toBeUndefined();
  expect(parseTableMetadata('["f1",[]]')).toBeUndefined();
});

test('P113 metadata stays within what a broker takes, however many expectations a table has', () => {
  const names = (count: number) =>
    Array.from({ length: count }, (_, at) => `expectation number ${at} with a long name äöü`);
  const filled = (count: number) => {
    const counters = emptyFlowCounters(names(count));
    counters.records = 1_000_000;
    for (const [at, one] of counters.expectations.entries()) {
      one.passed = 1_000 + at;
      one.failed = at;
    }
    return counters;
  };
  for (const count of [1, 40, 150, 400, 3_000]) {
    expect(Buffer.byteLength(flowMetadata(filled(count)))).toBeLessThan(4_096);
  }
  for (const count of [40, 150]) {
    expect(parseFlowMetadata(flowMetadata(filled(count)), names(count))).toEqual(filled(count));
  }
  const other = parseFlowMetadata(flowMetadata(filled(150)), names(151));
  expect(other?.records).toBe(1_000_000);
  expect(other?.expectations[0]).toMatchObject({ passed: 0, failed: 0 });
});

test('dead letters by reason ride along; a checkpoint from before they were counted so has none', () => {
  const counters = emptyFlowCounters([]);
  counters.deadLettered = 3;
  const before = flowMetadata(counters);
  counters.reasons.schema = 2;
  counters.reasons.expression = 1;
  const parsed = parseFlowMetadata(flowMetadata(counters), []);
  expect(parsed?.reasons).toEqual(counters.reasons);
  expect(parsed?.deadLettered).toBe(3);
  expect(parseFlowMetadata(before, [])?.reasons).toEqual(emptyFlowCounters([]).reasons);
});
