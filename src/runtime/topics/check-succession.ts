import { FlowError } from '../../base/errors.ts';
import type { FlowPlan, PipelinePlan } from '../../plan/pipeline-plan.ts';
import { tableOf } from '../../plan/topology.ts';
import { successionAlternatives } from '../../refresh/alternatives.ts';
import { isOtherForm } from '../../refresh/changes.ts';
import { deployedFlow, readDeployedFlow } from '../../refresh/deployed-flow.ts';
import { successionChanges } from '../../refresh/succession-changes.ts';
import type { KnownCatalog } from './catalog.ts';
import { isOnlyWriter, writerOf } from './table-writer.ts';

/**
 * Refuses a flow whose table another flow, or a materialized view, wrote by a definition that contradicts its own: rows of both would
 * stand in one topic, with keys, orders or forms that never meet (FR-13, FR-28).
 */
export function checkSuccession(plan: PipelinePlan, flow: FlowPlan, catalog: KnownCatalog): void {
  // Of several change feeds into one table the one with the table stage speaks for all.
  if (flow.kind === 'auto_cdc' && !isOnlyWriter(flow)) return;
  const table = tableOf(plan, flow);
  refuseView(flow, table, catalog);
  const writer = writerOf(catalog, table.topic);
  if (writer === undefined || writer === flow.name) return;
  const before = readDeployedFlow(catalog.get('flow', writer)?.value);
  if (before === undefined || before.topic !== table.topic) return;
  const after = deployedFlow(flow, table);
  const changes = successionChanges(before, after);
  if (changes.length === 0) return;
  throw new FlowError(
    'DEFINITION_CHANGED',
    `flow "${flow.name}" can not take table "${flow.target}" over from flow "${writer}"`,
    {
      detail: changes.map(({ id, text }) => `${text} (${id})`).join(' '),
      hint: `${successionAlternatives(writer, flow.target, isOtherForm(before, after)).join('; ')}.`,
    },
  );
}

/** What a view has written has the numbers of its runs for a sequence, which rows of the sources would be late beside. */
function refuseView(
  flow: FlowPlan,
  { topic }: { readonly topic: string },
  catalog: KnownCatalog,
): void {
  const before = catalog.get('topic', topic)?.value['flow'];
  if (typeof before !== 'string' || catalog.get('view', before) === undefined) return;
  if (catalog.get('flow', before) !== undefined || writerOf(catalog, topic) !== undefined) return;
  throw new FlowError(
    'DEFINITION_CHANGED',
    `flow "${flow.name}" can not take table "${flow.target}" over from materialized view "${before}"`,
    {
      detail: `Topic "${topic}" has rows of the view, whose sequence is that of its runs (FL-21).`,
      hint: "Give the table a topic of its own (WITH (topic = '…')), or delete the topic of the view first.",
    },
  );
}
