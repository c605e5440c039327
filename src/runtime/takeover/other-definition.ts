import type { FlowPlan, PipelinePlan } from '../../plan/pipeline-plan.ts';
import { tableOf } from '../../plan/topology.ts';
import { flowChanges } from '../../refresh/changes.ts';
import { deployedFlow, readDeployedFlow } from '../../refresh/deployed-flow.ts';
import type { KnownCatalog } from '../topics/catalog.ts';

/**
 * How the definition of a flow differs from the one that is deployed, in sentences; undefined: it does not, or the flow never
 * ran. Invariant: what is deployed is what the catalog has, whether or not an instance runs.
 */
export function otherDefinition(
  catalog: KnownCatalog,
  plan: PipelinePlan,
  flow: FlowPlan,
): string | undefined {
  const deployed = readDeployedFlow(catalog.get('flow', flow.name)?.value);
  if (deployed === undefined) return undefined;
  const now = deployedFlow(flow, tableOf(plan, flow));
  const changes = flowChanges(deployed, now);
  if (deployed.fingerprint === now.fingerprint && changes.length === 0) return undefined;
  return changes.map(({ text }) => text).join(' ');
}
