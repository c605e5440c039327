import type { Catalog } from './catalog.ts';

/**
 * Enters the transactional id of a writer that is no instance of the service, before it opens anything: whoever is held up by
 * what it left open ends it. Without it a transaction that has a record of the catalog in it hides all that others enter
 * behind it, and nobody knows any more whose transactions there are (simulation seed 97080948).
 */
export async function nameWriter(
  catalog: Catalog,
  transactionalId: string,
  nowMs: number,
): Promise<void> {
  if (catalog.get('instance', transactionalId) !== undefined) return;
  const entry = { kind: 'instance' as const, name: transactionalId };
  await catalog.write([{ ...entry, value: { instance: transactionalId } }], nowMs);
}

/** Once it has nothing open any more, and nobody else is at the same. */
export async function forgetWriter(
  catalog: Catalog,
  transactionalId: string,
  nowMs: number,
): Promise<void> {
  if (catalog.get('instance', transactionalId) === undefined) return;
  await catalog.write([{ kind: 'instance', name: transactionalId, value: undefined }], nowMs);
}
