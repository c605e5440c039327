import { nearestNames } from '../base/nearest-name.ts';
import { explainPipeline } from '../plan/explain/explain.ts';
import type { PipelinePlan } from '../plan/pipeline-plan.ts';
import { type Command, usageError } from './command.ts';
import { pipelineFlag, pipelinePaths, toldPipeline } from './pipeline-files.ts';

export const explain: Command = {
  name: 'explain',
  summary: 'show what a pipeline does: steps with types, tasks, topics, state',
  arguments: 'FILE…',
  example: 'tidemark explain bookings.sql --flow by_property',
  flags: { ...pipelineFlag, flow: { type: 'string', value: 'NAME', doc: 'Only this flow.' } },
  usesConfig: true,
  run: async (invocation) => {
    const config = invocation.config();
    const paths = pipelinePaths(invocation);
    const plan = (await toldPipeline(invocation, paths))?.plan;
    if (plan === undefined) return 3;
    const flow = flowName(plan, invocation.text('flow'));
    const pipeline = config['pipeline.name'];
    const explained = explainPipeline(plan, {
      ...(flow === undefined ? {} : { flow }),
      ...(pipeline === undefined ? {} : { pipeline }),
    });
    if (invocation.json) invocation.printJson(explained.json);
    else
      invocation.terminal.out(
        explained.text.endsWith('\n') ? explained.text : `${explained.text}\n`,
      );
    return 0;
  },
};

/** The flow as the plan spells it; names go without case, as in SQL. */
function flowName(plan: PipelinePlan, given: string | undefined): string | undefined {
  if (given === undefined) return undefined;
  const names = plan.flows.map(({ name }) => name);
  const found = names.find((name) => name.toLowerCase() === given.toLowerCase());
  if (found !== undefined) return found;
  const [nearest] = nearestNames(given, names);
  throw usageError(
    `the pipeline has no flow "${given}"`,
    nearest === undefined ? `Its flows are: ${names.join(', ')}.` : `Did you mean "${nearest}"?`,
  );
}
