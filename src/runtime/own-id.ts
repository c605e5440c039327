import { FlowError } from '../base/errors.ts';
import { ownInstanceNameHint } from '../base/instance-hint.ts';
import type { Catalog, CatalogEntry } from './catalog.ts';

/** When a process first entered its name: by the place that the catalog then stood at, and the clock where that is the same. */
type Beginning = { readonly position: number; readonly ms: number };

/**
 * The transactional id of this process, and what the catalog says of who has it.
 *
 * Invariant: of two living processes of one name the one that began first gives way. Each ends what the other has open
 * under the id of both, so without it they could go on for ever and commit nothing (simulation seed 10021091).
 */
export class OwnId {
  readonly transactionalId: string;
  /** Where nothing is open here: ends what another process of this name has left open. */
  readonly renew: () => Promise<void>;
  readonly #instance: string;
  #began: Beginning | undefined;

  constructor(transactionalId: string, instance: string, renew: () => Promise<void>) {
    this.transactionalId = transactionalId;
    this.#instance = instance;
    this.renew = renew;
  }

  /** What a takeover enters, once the catalog was read; the first one decides when this process began. */
  entry(
    catalog: Pick<Catalog, 'position'>,
    nowMs: number,
  ): Pick<CatalogEntry, 'kind' | 'name' | 'value'> {
    this.#began ??= { position: catalog.position, ms: nowMs };
    return {
      kind: 'instance',
      name: this.transactionalId,
      value: { instance: this.#instance, began: this.#began },
    };
  }

  /** Whether a process of this name that began later has entered itself, by what was read of the catalog. */
  isOvertaken(catalog: Pick<Catalog, 'get'>): boolean {
    const own = this.#began;
    const other = beginningOf(catalog.get('instance', this.transactionalId));
    if (own === undefined || other === undefined) return false;
    if (other.position !== own.position) return other.position > own.position;
    return other.ms > own.ms;
  }

  /** Throws TASK_MIGRATED when overtaken. */
  refuseOvertaken(catalog: Pick<Catalog, 'get'>): void {
    if (!this.isOvertaken(catalog)) return;
    throw new FlowError(
      'TASK_MIGRATED',
      `another process has the name "${this.#instance}" and began after this one`,
      {
        hint: ownInstanceNameHint,
      },
    );
  }
}

function beginningOf(entry: CatalogEntry | undefined): Beginning | undefined {
  const began = entry?.value['began'];
  if (typeof began !== 'object' || began === null) return undefined;
  const { position, ms } = began as Partial<Beginning>;
  return typeof position === 'number' && typeof ms === 'number' ? { position, ms } : undefined;
}
