import { FlowError } from '../../base/errors.ts';
import type { Catalog, CatalogEntry } from '../topics/catalog.ts';

export type OwnIdOptions = {
  /** Of this instance among all pipelines. */
  readonly name: string;
  readonly instance: string;
  /** Of this process alone, whatever its name. */
  readonly token: string;
  readonly isTransactional: boolean;
  /** Where nothing is open here: ends what another process of this name has left open. */
  readonly renew: () => Promise<void>;
};

/**
 * When a process first entered its name: by the place that the catalog then stood at, by the clock where that is the same, and
 * where that is, too, by what no other process has.
 */
type Beginning = { readonly position: number; readonly ms: number; readonly token: string };

/**
 * The name of this process within its pipeline, and what the catalog says of who has it.
 *
 * Invariant: of two living processes of one name exactly one gives way, the one that began first. Each ends what the other has open
 * under the id of both, and throws the other out of their groups, so without it they could go on for ever and commit
 * nothing (simulation seed 10021091). A group that says the name is another's is no proof: a coordinator which lost its
 * last changes says so of the only one that lives.
 */
export class OwnId {
  readonly name: string;
  /** Under which it writes; undefined: it writes nothing in transactions. */
  readonly transactionalId: string | undefined;
  /** Where nothing is open here: ends what another process of this name has left open. */
  readonly renew: () => Promise<void>;
  readonly #instance: string;
  readonly #token: string;
  #began: Beginning | undefined;

  constructor({ name, instance, token, isTransactional, renew }: OwnIdOptions) {
    this.name = name;
    this.transactionalId = isTransactional ? name : undefined;
    this.#instance = instance;
    this.#token = token;
    this.renew = renew;
  }

  /** What it enters, once the catalog was read: before it joins a group, and with each takeover. The first decides when it began. */
  entry(
    catalog: Pick<Catalog, 'position'>,
    nowMs: number,
  ): Pick<CatalogEntry, 'kind' | 'name' | 'value'> {
    this.#began ??= { position: catalog.position, ms: nowMs, token: this.#token };
    return {
      kind: 'instance',
      name: this.name,
      value: { instance: this.#instance, began: this.#began },
    };
  }

  /** Whether a process of this name that began later has entered itself, by what was read of the catalog. */
  isOvertaken(catalog: Pick<Catalog, 'get'>): boolean {
    const own = this.#began;
    const other = beginningOf(catalog.get('instance', this.name));
    if (own === undefined || other === undefined) return false;
    if (other.position !== own.position) return other.position > own.position;
    if (other.ms !== own.ms) return other.ms > own.ms;
    // Twins that were started together, as by one command, would chase each other for ever (simulation seed 96042976).
    return other.token > own.token;
  }

  /** Throws TASK_MIGRATED when overtaken. */
  refuseOvertaken(catalog: Pick<Catalog, 'get'>): void {
    if (!this.isOvertaken(catalog)) return;
    throw new FlowError(
      'TASK_MIGRATED',
      `another process has the name "${this.#instance}" and began after this one`,
      {
        hint: 'Give each process a name of its own: --instance.name NAME, or TIDEMARK_INSTANCE_NAME. By default it is the name of the host, which containers may have in common.',
      },
    );
  }
}

function beginningOf(entry: CatalogEntry | undefined): Beginning | undefined {
  const began = entry?.value['began'];
  if (typeof began !== 'object' || began === null) return undefined;
  const { position, ms, token = '' } = began as Partial<Beginning>;
  if (typeof position !== 'number' || typeof ms !== 'number') return undefined;
  return { position, ms, token };
}
