import type { FlowRunner } from './flow-runner.ts';

/** Runs a step of one flow, so that its failure ends that flow alone. */
export async function blame(runner: FlowRunner, step: () => Promise<void>): Promise<void> {
  try {
    await step();
  } catch (error) {
    throw new RunnerError(runner, error);
  }
}

/** An error with the flow that it belongs to, on its way to whoever decides what becomes of the flow. */
export class RunnerError extends Error {
  readonly runner: FlowRunner;

  constructor(runner: FlowRunner, cause: unknown) {
    super('a flow failed', { cause });
    this.runner = runner;
  }
}
