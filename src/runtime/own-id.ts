import { FlowError } from '../base/errors.ts';
import type { Catalog, CatalogEntry } from './catalog.ts';

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
  /** Offset in the catalog topic at which this process last entered its name. */
  #enteredAt: number | undefined;

  constructor(transactionalId: string, instance: string, renew: () => Promise<void>) {
    this.transactionalId = transactionalId;
    this.#instance = instance;
    this.renew = renew;
  }

  /** To be written as the last of its entries; `entered` is told the end of them. */
  get entry(): Pick<CatalogEntry, 'kind' | 'name' | 'value'> {
    return {
      kind: 'instance',
      name: this.transactionalId,
      value: { instance: this.#instance },
    };
  }

  entered(end: number): void {
    this.#enteredAt = end - 1;
  }

  /** Whether a process of this name has entered itself since this one did, by what was read of the catalog. */
  isOvertaken(catalog: Pick<Catalog, 'get'>): boolean {
    const there = catalog.get('instance', this.transactionalId);
    return this.#enteredAt !== undefined && there !== undefined && there.offset > this.#enteredAt;
  }

  /** Throws CONFIG_INVALID when overtaken. */
  refuseOvertaken(catalog: Pick<Catalog, 'get'>): void {
    if (!this.isOvertaken(catalog)) return;
    throw new FlowError(
      'CONFIG_INVALID',
      `another process has the name "${this.#instance}" and began after this one`,
      {
        hint: 'Give each process a name of its own: --instance.name NAME, or TIDEMARK_INSTANCE_NAME. By default it is the name of the host, which containers may have in common.',
      },
    );
  }
}
