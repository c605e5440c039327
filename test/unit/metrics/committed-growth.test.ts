import { expect, test } from 'vitest';
import { CommittedGrowth, type Growth } from '../../../src/cli/committed-growth.ts';
import type { FlowProgress, WorkerProgress } from '../../../src/runtime/worker/worker-progress.ts';
import { emptyFlowCounters, emptyTableCounters } from '../../../src/task/row-account.ts';

type At = { readonly committed: number; readonly position?: number; readonly partition?: number };

/** One record an offset, as the simplest source has it. */
function flow(...places: readonly At[]): FlowProgress {
  return {
    flow: 'f',
    group: 'p.f',
    failed: undefined,
    outputRecords: 0,
    partitions: places.map(({ committed, position = committed, partition = 0 }) => ({
      topic: 't',
      partition,
      position,
      committed,
      stable: 1_000,
      end: 1_000,
      logStart: 0,
      keysHeld: 0,
      counters: { ...emptyFlowCounters(['e']), records: position },
      committedCounters: {
        ...emptyFlowCounters([]),
        records: committed,
        expectations: [{ name: 'e', passed: committed, failed: 0 }],
      },
    })),
  };
}

function progress(...flows: readonly FlowProgress[]): WorkerProgress {
  return {
    state: 'running',
    records: 0,
    outputRecords: 0,
    commits: 0,
    fencings: 0,
    turns: 0,
    stageMs: { wait_source: 0, query: 0, store: 0, merge: 0, emit: 0, wait_sink: 0, takeover: 0 },
    flows,
  };
}

function records(grown: readonly Growth[]): number {
  return grown.reduce(
    (sum, { counters }) => sum + ('records' in counters ? counters.records : 0),
    0,
  );
}

test('a partition brings its past as a base, and adds what is committed from then on', () => {
  const growth = new CommittedGrowth();
  expect(records(growth.assigned(flow({ committed: 500 })))).toBe(0);
  const grown = growth.committed(progress(flow({ committed: 530, position: 600 })));
  expect(records(grown)).toBe(30);
  expect(grown[0]?.counters).toMatchObject({
    expectations: [{ name: 'e', passed: 30, failed: 0 }],
  });
  expect(records(growth.committed(progress(flow({ committed: 530, position: 700 }))))).toBe(0);
});

test('P123 rows merged in memory grow the account of a table while its checkpoint stays', () => {
  const at = (fresh: number): FlowProgress => {
    const one = flow({ committed: 7 });
    const counters = { ...emptyTableCounters(), new: fresh };
    return {
      ...one,
      partitions: one.partitions.map((partition) => ({
        ...partition,
        counters,
        committedCounters: counters,
      })),
    };
  };
  const growth = new CommittedGrowth();
  growth.assigned(at(40));
  expect(growth.committed(progress(at(43)))).toMatchObject([{ flow: 'f', counters: { new: 3 } }]);
  growth.doubted(progress(at(43)), false);
  expect(growth.assigned(at(45))).toMatchObject([{ counters: { new: 2 } }]);
  growth.doubted(progress(at(45)), true);
  expect(growth.assigned(at(49))).toEqual([]);
});

test('a replay from the checkpoint adds nothing twice', () => {
  const growth = new CommittedGrowth();
  growth.assigned(flow({ committed: 0 }));
  growth.committed(progress(flow({ committed: 10, position: 25 })));
  growth.doubted(progress(flow({ committed: 10, position: 25 })), false);
  expect(records(growth.assigned(flow({ committed: 10 })))).toBe(0);
  expect(records(growth.committed(progress(flow({ committed: 25 }))))).toBe(15);
});

test('a commit whose outcome nobody told counts when the checkpoint stands where it led to', () => {
  const growth = new CommittedGrowth();
  growth.assigned(flow({ committed: 10 }));
  growth.doubted(progress(flow({ committed: 10, position: 25 })), false);
  expect(records(growth.assigned(flow({ committed: 20 })))).toBe(10);
});

test('what another instance committed meanwhile is its own to count', () => {
  const growth = new CommittedGrowth();
  growth.assigned(flow({ committed: 10 }));
  growth.doubted(progress(flow({ committed: 10, position: 25 })), true);
  expect(records(growth.assigned(flow({ committed: 20 })))).toBe(0);
  growth.doubted(progress(flow({ committed: 20, position: 30 })), false);
  expect(records(growth.assigned(flow({ committed: 31 })))).toBe(0);
  expect(records(growth.committed(progress(flow({ committed: 33 }))))).toBe(2);
});

test('a partition that went away and came back starts from a new base', () => {
  const growth = new CommittedGrowth();
  growth.assigned(flow({ committed: 10 }, { committed: 10, partition: 1 }));
  growth.assigned(flow({ committed: 10 }));
  expect(records(growth.assigned(flow({ committed: 10 }, { committed: 90, partition: 1 })))).toBe(
    0,
  );
});

test('a checkpoint that was set back by hand adds nothing below zero', () => {
  const growth = new CommittedGrowth();
  growth.assigned(flow({ committed: 100 }));
  const reset = flow({ committed: 101 });
  const [first] = reset.partitions;
  if (first === undefined) throw new Error('there is a partition');
  const partitions = [{ ...first, committedCounters: emptyFlowCounters(['e']) }];
  expect(records(growth.committed(progress({ ...reset, partitions })))).toBe(0);
});

test('both stages are told apart', () => {
  const growth = new CommittedGrowth();
  const [first] = flow({ committed: 1 }).partitions;
  if (first === undefined) throw new Error('there is a partition');
  const at = (committed: number): FlowProgress => ({
    ...flow(),
    partitions: [
      {
        ...first,
        committed,
        committedCounters: {
          ...emptyTableCounters(),
          rows: committed,
          new: 1,
          tied: committed - 1,
        },
      },
    ],
  });
  growth.assigned(at(1));
  expect(growth.committed(progress(at(4)))).toEqual([
    { flow: 'f', topic: 't', counters: { ...emptyTableCounters(), rows: 3, tied: 3 } },
  ]);
});

test('rows that are merged where they come in count, though nothing moves between the stages', () => {
  const table = (rows: number): FlowProgress => ({
    ...flow({ committed: 7 }),
    partitions: [
      {
        ...(flow({ committed: 7 }).partitions[0] as FlowProgress['partitions'][number]),
        committedCounters: { ...emptyTableCounters(), rows, new: rows },
      },
    ],
  });
  const growth = new CommittedGrowth();
  growth.assigned(table(5));
  const [grown] = growth.committed(progress(table(9)));
  expect(grown?.counters).toMatchObject({ rows: 4, new: 4 });
  growth.doubted(progress(table(9)), true);
  // Somebody else's rows.
  expect(growth.assigned(table(20))).toEqual([]);
});
