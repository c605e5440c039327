import { FlowError } from '../base/errors.ts';
import { composeState } from '../compose.ts';
import { isHelping, type PipelinePlan, type TablePlan } from '../plan/pipeline-plan.ts';
import { sourcesOf } from '../plan/topology.ts';
import { keyedFacts } from '../runtime/inspect/flow-facts.ts';
import { deployedFacts } from '../runtime/inspect/pipeline-facts.ts';
import { type PartitionScrub, rebuildState, scrubState } from '../runtime/inspect/state-scrub.ts';
import { flowsOf } from '../runtime/refresh/refresh-facts.ts';
import { type Command, type ExitCode, type Invocation, usageError } from './command.ts';
import { countText } from './count-text.ts';
import { withDeployment } from './deployment.ts';
import { outside } from './outside.ts';
import { namedTable, pipelineFlag } from './pipeline-files.ts';
import { scrubText } from './scrub-text.ts';

const usage = 'Usage: tidemark state scrub|rebuild TABLE';

export const state: Command = {
  name: 'state',
  summary: 'compare the state of a table with its output topic, or rebuild it from there',
  arguments: 'scrub|rebuild TABLE',
  example:
    'tidemark state scrub bookings_current --pipeline bookings.sql --pipeline.name bookings --kafka.brokers localhost:9092',
  flags: pipelineFlag,
  usesConfig: true,
  run: async (invocation) => {
    const [action = '', name, extra] = invocation.positionals;
    if (name === undefined || extra !== undefined) {
      throw usageError('an action and one table are needed', usage);
    }
    if (action !== 'scrub' && action !== 'rebuild') {
      throw usageError(`there is no action "${action}"`, usage);
    }
    return withDeployment(invocation, async (deployment): Promise<ExitCode> => {
      const { table } = namedTable(deployment.plan, name);
      const [flow] = flowsOf(deployment.plan, table);
      const options = outside('state', invocation, deployment);
      const facts = await deployedFacts(options, flow);
      const keyed = keyedFacts(facts);
      if (keyed === undefined) throw stateless(table, deployment.plan);
      const store = await composeState(deployment.config, (text) =>
        invocation.terminal.err(`${text}\n`),
      );
      try {
        await store.check();
        const work = { ...options, state: store };
        if (action === 'scrub') {
          const found = await scrubState({ ...work, facts: keyed });
          return tellScrub(invocation, table.name, found);
        }
        const partitions = await rebuildState({ ...work, facts: keyed });
        if (invocation.json) invocation.printJson({ table: table.name, rebuilt: partitions });
        else {
          invocation.terminal.out(
            `table ${table.name}: the state of ${countText(partitions.length, 'partition')} is rebuilt\n`,
          );
        }
        return 0;
      } finally {
        await store.close().catch(() => undefined);
      }
    });
  },
};

function stateless(table: TablePlan, plan: PipelinePlan): FlowError {
  const { name } = table;
  // What a DISTINCT, a LIMIT or a join of two streams remembers is the state of a table of its own.
  const read = flowsOf(plan, table).flatMap((flow) => sourcesOf(plan, flow));
  const helping = plan.flows.filter(isHelping).map(({ target }) => target);
  const [helper] = read.flatMap(({ table: above }) => helping.filter((one) => one === above));
  return new FlowError('NOT_SUPPORTED', `table "${name}" has no state`, {
    detail: 'Append flows write it, and a row that is appended is never compared with another one.',
    hint:
      helper === undefined
        ? `tidemark verify ${name} compares its rows with the sources; as committed: tidemark dump ${name}.`
        : `What its query remembers is the state of "${helper}": name that one.`,
  });
}

function tellScrub(
  invocation: Invocation,
  table: string,
  partitions: readonly PartitionScrub[],
): ExitCode {
  const differences = partitions.reduce((sum, one) => sum + one.differences, 0);
  if (invocation.json) {
    invocation.printJson({ table, right: differences === 0, differences, partitions });
    return differences === 0 ? 0 : 1;
  }
  invocation.terminal.out(scrubText(table, partitions));
  return differences === 0 ? 0 : 1;
}
