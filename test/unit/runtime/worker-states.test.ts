import { expect, test } from 'vitest';
import { InvariantError } from '../../../src/base/assert.ts';
import { StateMachine } from '../../../src/base/state-machine.ts';
import { type WorkerState, workerTransitions } from '../../../src/runtime/worker/worker-states.ts';

const states = Object.keys(workerTransitions) as WorkerState[];
const pairs = states.flatMap((from) => states.map((to) => [from, to] as const));

test.each(pairs)('a worker goes from %s to %s only when the table lists it', (from, to) => {
  const machine = new StateMachine('worker', workerTransitions, from);
  if (workerTransitions[from].includes(to)) {
    machine.transition(to);
    expect(machine.state).toBe(to);
  } else {
    expect(() => machine.transition(to)).toThrow(InvariantError);
    expect(machine.state).toBe(from);
  }
});

test('every state of a worker is reachable from created', () => {
  const reached = new Set<WorkerState>(['created']);
  for (const state of reached) for (const next of workerTransitions[state]) reached.add(next);
  expect([...reached].sort()).toEqual([...states].sort());
});
