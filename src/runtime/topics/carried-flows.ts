import { FlowError } from '../../base/errors.ts';
import { type FlowPlan, isKeyed, type PipelinePlan } from '../../plan/pipeline-plan.ts';
import type { CatalogChange, KnownCatalog } from './catalog.ts';

/** What the catalog keeps of a flow whose checkpoint went to one of another name, and forgets when it comes back. */
export function carriedEntries(before: string, after: string): readonly CatalogChange[] {
  return [
    { kind: 'carried', name: before, value: { to: after } },
    { kind: 'carried', name: after, value: undefined },
  ];
}

/** The flow that has the checkpoint of a former one now; undefined: it was not carried. */
export function carriedTo(catalog: KnownCatalog, name: string): string | undefined {
  const seen = new Set([name]);
  let last: string | undefined;
  for (let next = name; ; ) {
    const to = catalog.get('carried', next)?.value['to'];
    if (typeof to !== 'string' || seen.has(to)) return last;
    seen.add(to);
    last = to;
    next = to;
  }
}

/**
 * Why a flow must not begin anew: its checkpoint is that of another flow, and its rows are not merged, so that all of them
 * would stand in the table a second time.
 */
export function carriedError(catalog: KnownCatalog, flow: FlowPlan): FlowError | undefined {
  const to = isKeyed(flow) ? undefined : carriedTo(catalog, flow.name);
  if (to === undefined) return undefined;
  return new FlowError(
    'DEFINITION_CHANGED',
    `flow "${flow.name}" goes on as flow "${to}", which has its checkpoint`,
    {
      detail:
        'Under its former name it would read everything again, and append all rows once more.',
      hint: `Start the instance with the present files; or hand the checkpoint back: tidemark checkpoint carry ${to} ${flow.name}. A new flow beside "${to}" may have the name, where both stand in the files.`,
    },
  );
}

/** Where the files have both, a flow of the former name is a new one. */
export function checkCarried(plan: PipelinePlan, flow: FlowPlan, catalog: KnownCatalog): void {
  if (isNewOfThatName(plan, flow, catalog)) return;
  const error = carriedError(catalog, flow);
  if (error !== undefined) throw error;
}

/** What the catalog is to forget of flows that have a former one's name. */
export function forgottenCarries(
  plan: PipelinePlan,
  catalog: KnownCatalog,
): readonly CatalogChange[] {
  return plan.flows.flatMap((flow) =>
    catalog.get('carried', flow.name) !== undefined &&
    (isKeyed(flow) || isNewOfThatName(plan, flow, catalog))
      ? [{ kind: 'carried' as const, name: flow.name, value: undefined }]
      : [],
  );
}

function isNewOfThatName(plan: PipelinePlan, flow: FlowPlan, catalog: KnownCatalog): boolean {
  const to = carriedTo(catalog, flow.name);
  return plan.flows.some(({ name }) => name === to);
}
