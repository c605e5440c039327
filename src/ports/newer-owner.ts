import { FlowError } from '../base/errors.ts';

/** The state of a task stands under a higher epoch than that of whoever asks for it. */
export class NewerOwnerError extends FlowError {
  readonly standingEpoch: number;

  constructor(task: string, standingEpoch: number, epoch: number) {
    super('TASK_MIGRATED', `the state of task "${task}" has a newer owner`, {
      detail: `Its epoch is ${standingEpoch}, ours is ${epoch}.`,
    });
    this.standingEpoch = standingEpoch;
  }
}
