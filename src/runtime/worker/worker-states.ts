import type { Transitions } from '../../base/state-machine.ts';

export type WorkerState =
  | 'created'
  | 'starting'
  | 'running'
  | 'recovering'
  | 'stopping'
  | 'stopped'
  | 'failed';

/**
 * The life of a worker.
 *
 *     created ──► starting ──► running ◄──► recovering
 *                    │  │         │             │
 *                    │  └─────────┼─────────────┤
 *                    │            ▼             ▼
 *                    │        stopping ──► stopped
 *                    └──► failed ◄── running, recovering, stopping
 */
export const workerTransitions: Transitions<WorkerState> = {
  created: ['starting', 'stopped'],
  starting: ['running', 'recovering', 'stopping', 'failed'],
  running: ['recovering', 'stopping', 'failed'],
  recovering: ['running', 'stopping', 'failed'],
  stopping: ['stopped', 'failed'],
  stopped: [],
  failed: [],
};
