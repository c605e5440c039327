import { setPause } from '../runtime/worker/pauses.ts';
import { type Command, type ExitCode, type Invocation, usageError } from './command.ts';
import { withDeployment } from './deployment.ts';
import { namedWork, outside } from './outside.ts';
import { pipelineFlag } from './pipeline-files.ts';

export const pause: Command = {
  name: 'pause',
  summary: 'have a flow stand still: it keeps its place, and reads nothing until it is resumed',
  arguments: 'FLOW',
  example:
    'tidemark pause bookings_current --pipeline bookings.sql --pipeline.name bookings --kafka.brokers localhost:9092',
  flags: pipelineFlag,
  usesConfig: true,
  run: (invocation) => turn(invocation, true),
};

/** Writes the wish into the catalog, where every instance that runs finds it within a second or two. */
export async function turn(invocation: Invocation, isPaused: boolean): Promise<ExitCode> {
  const [name, extra] = invocation.positionals;
  const verb = isPaused ? 'pause' : 'resume';
  if (name === undefined || extra !== undefined) {
    throw usageError('one flow is needed', `Usage: tidemark ${verb} FLOW`);
  }
  return withDeployment(invocation, async (deployment) => {
    const flow = namedWork(deployment.plan, name);
    const { catalog, clock, command } = outside(verb, invocation, deployment);
    const wish = { isPaused, command, nowMs: clock.now() };
    const hasChanged = await setPause(catalog, flow, wish);
    if (invocation.json) {
      invocation.printJson({ flow, paused: isPaused, changed: hasChanged });
    } else {
      const state = isPaused ? 'is paused' : 'goes on';
      invocation.terminal.out(
        `flow ${flow} ${state}${hasChanged ? '; instances that run follow within two seconds' : ' already'}\n`,
      );
    }
    return 0;
  });
}
