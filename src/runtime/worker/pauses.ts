import type { Clock } from '../../ports/clock.ts';
import type { Catalog } from '../topics/catalog.ts';

/** A flow that somebody had stand still. */
export type Pause = { readonly flow: string; readonly sinceMs: number };

export function pausesOf(catalog: Pick<Catalog, 'all'>): readonly Pause[] {
  return catalog.all('pause').map(({ name, value }) => ({
    flow: name,
    sinceMs: Number(value['sinceMs'] ?? 0),
  }));
}

/** Asks for a flow to stand still, or to go on. False: it does so already. */
export async function setPause(
  catalog: Catalog,
  flow: string,
  wish: { readonly isPaused: boolean; readonly command: string; readonly nowMs: number },
): Promise<boolean> {
  const { isPaused, command, nowMs } = wish;
  await catalog.read();
  if ((catalog.get('pause', flow) !== undefined) === isPaused) return false;
  const value = isPaused ? { sinceMs: nowMs, command } : undefined;
  await catalog.write([{ kind: 'pause', name: flow, value }], nowMs);
  return true;
}

const lookIntervalMs = 1_000;

/**
 * Follows the pauses in the catalog while a service runs. Invariant: what it cannot read changes nothing; it looks again.
 */
export class PauseWatch {
  readonly #catalog: Catalog;
  readonly #clock: Clock;
  readonly #apply: (paused: ReadonlySet<string>) => void;
  #isClosed = false;
  #last = '';

  /** The catalog is the worker's, which closes it. */
  constructor(
    { catalog, clock }: { readonly catalog: Catalog; readonly clock: Clock },
    apply: (paused: ReadonlySet<string>) => void,
  ) {
    this.#catalog = catalog;
    this.#clock = clock;
    this.#apply = apply;
  }

  async run(): Promise<void> {
    while (!this.#isClosed) {
      try {
        await this.#catalog.follow();
        this.#follow(pausesOf(this.#catalog).map(({ flow }) => flow));
      } catch {
        // The worker itself tells what is wrong with the brokers.
      }
      await this.#clock.sleep(lookIntervalMs);
    }
  }

  #follow(flows: readonly string[]): void {
    const text = JSON.stringify([...flows].sort());
    if (this.#isClosed || text === this.#last) return;
    this.#last = text;
    this.#apply(new Set(flows));
  }

  close(): void {
    this.#isClosed = true;
  }
}
