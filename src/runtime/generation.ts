import type { Catalog } from './catalog.ts';

/** How often a flow's table was refreshed fully: part of the name of its state, and of every record it writes. */
export function generationOf(catalog: Catalog | undefined, flow: string): number {
  const known = catalog?.get('generation', flow)?.value['generation'];
  return typeof known === 'number' ? known : 0;
}
