import { FlowError } from '../base/errors.ts';
import type { Catalog } from './catalog.ts';
import type { FlowFacts } from './flow-facts.ts';

/** How often a flow's table was refreshed fully: part of the name of its state, and of every record it writes. */
export function generationOf(catalog: Catalog | undefined, flow: string): number {
  const known = catalog?.get('generation', flow)?.value['generation'];
  return typeof known === 'number' ? known : 0;
}

/** An instance that was away while a table was refreshed knows neither its generation nor its definition. */
export function refuseOtherGeneration(catalog: Catalog, { flow, generation }: FlowFacts): void {
  const now = generationOf(catalog, flow.name);
  if (now === generation) return;
  throw new FlowError(
    'TABLE_LOCKED',
    `flow "${flow.name}" was refreshed while this instance was away`,
    {
      detail: `It knows generation ${generation}, and the table is in generation ${now}.`,
      hint: 'Start the instance again.',
    },
  );
}
