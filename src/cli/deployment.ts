import { requireOptions } from '../config/load-config.ts';
import type { Config } from '../config/options.ts';
import type { PipelinePlan } from '../plan/pipeline-plan.ts';
import { catalogTopicOf } from '../plan/topology.ts';
import type { Log } from '../ports/log.ts';
import { type Catalog, openCatalog } from '../runtime/topics/catalog.ts';
import type { ExitCode, Invocation } from './command.ts';
import { namedPipeline, withLog } from './pipeline-files.ts';

/** A pipeline's definition beside what is deployed of it. */
export type Deployment = {
  readonly config: Config;
  readonly plan: PipelinePlan;
  readonly pipeline: string;
  readonly log: Log;
  /** undefined: the pipeline never ran. */
  readonly catalog: Catalog | undefined;
};

/** Opens both for one verb and closes them again; exit code 3 where the definition is invalid. */
export async function withDeployment(
  invocation: Invocation,
  use: (deployment: Deployment) => Promise<ExitCode>,
): Promise<ExitCode> {
  const config = invocation.config();
  const plan = await namedPipeline(invocation, config);
  if (plan === undefined) return 3;
  return openDeployment(invocation, config, plan, use);
}

export async function openDeployment(
  invocation: Invocation,
  config: Config,
  plan: PipelinePlan,
  use: (deployment: Deployment) => Promise<ExitCode>,
): Promise<ExitCode> {
  requireOptions(config, ['pipeline.name', 'kafka.brokers']);
  const pipeline = config['pipeline.name'] ?? '';
  return withLog<ExitCode>(invocation, config, async (log) => {
    const catalog = await openCatalog(log, catalogTopicOf(pipeline));
    try {
      return await use({ config, plan, pipeline, log, catalog });
    } finally {
      await catalog?.close();
    }
  });
}
