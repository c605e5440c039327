import type { FlowProgress, WorkerProgress } from '../runtime/worker/worker-progress.ts';
import type { FlowCounters, TableCounters } from '../task/row-account.ts';

type Counters = FlowCounters | TableCounters;

/** What one partition's account has grown by. */
export type Growth = {
  readonly flow: string;
  readonly topic: string;
  readonly counters: Counters;
};

type Stand = {
  committed: number;
  counters: Counters;
  /** How far uncommitted work had gone when the outcome of a commit became unknown. */
  doubtedUpTo: number | undefined;
};

/**
 * What this process adds to the account of the flows: the counters that stand in the checkpoints, followed from
 * commit to commit. Invariants: a replay adds nothing, since what was not committed was not added; a partition that
 * comes here brings its past as a base that is not added; so over all instances, the sum of what they add is the growth
 * of the account. Only a commit whose outcome nobody told is judged from where the checkpoint stands afterwards.
 */
export class CommittedGrowth {
  readonly #stands = new Map<string, Stand>();

  /** After a commit that stands. */
  committed(progress: WorkerProgress): Growth[] {
    return progress.flows.flatMap((flow) => this.#follow(flow, () => false));
  }

  /** A flow was given its partitions, from the group or once more after a fault. */
  assigned(flow: FlowProgress): Growth[] {
    const mine = new Set(flow.partitions.map((one) => keyOf(flow.flow, one)));
    for (const key of this.#stands.keys()) {
      if (key.startsWith(`${flow.flow}\n`) && !mine.has(key)) this.#stands.delete(key);
    }
    return this.#follow(flow, ({ doubtedUpTo }, committed) => {
      return doubtedUpTo === undefined || committed > doubtedUpTo;
    });
  }

  /** Everything uncommitted is dropped. `isForeign`: somebody else may have gone on from the checkpoints. */
  doubted(progress: WorkerProgress, isForeign: boolean): void {
    for (const { flow, partitions } of progress.flows) {
      for (const one of partitions) {
        const stand = this.#stands.get(keyOf(flow, one));
        if (stand === undefined) continue;
        stand.doubtedUpTo = isForeign ? undefined : Math.max(one.position, stand.doubtedUpTo ?? 0);
      }
    }
  }

  #follow(
    { flow, partitions }: FlowProgress,
    isOthers: (stand: Stand, committed: number) => boolean,
  ): Growth[] {
    const grown: Growth[] = [];
    for (const one of partitions) {
      const { topic, committed, committedCounters } = one;
      const key = keyOf(flow, one);
      const stand = this.#stands.get(key);
      if (stand === undefined) {
        const counters = committedCounters;
        this.#stands.set(key, { committed, counters, doubtedUpTo: undefined });
        continue;
      }
      // Rows that are merged where they come in change the account of a table, and not its checkpoint between the stages.
      if (committed >= stand.committed && !isOthers(stand, committed)) {
        grown.push({ flow, topic, counters: difference(committedCounters, stand.counters) });
      }
      stand.committed = committed;
      stand.counters = committedCounters;
      stand.doubtedUpTo = undefined;
    }
    return grown;
  }
}

function keyOf(
  flow: string,
  { topic, partition }: { readonly topic: string; readonly partition: number },
): string {
  return `${flow}\n${topic}/${partition}`;
}

function difference(after: Counters, before: Counters): Counters {
  if ('records' in after) {
    const base = 'records' in before ? before : undefined;
    return {
      ...numbers(after, base),
      reasons: numbers(after.reasons, base?.reasons),
      expectations: after.expectations.map(({ name, passed, failed }) => {
        const known = base?.expectations.find((one) => one.name === name);
        return {
          name,
          passed: atLeastZero(passed - (known?.passed ?? 0)),
          failed: atLeastZero(failed - (known?.failed ?? 0)),
        };
      }),
    } as FlowCounters;
  }
  return numbers(after, 'records' in before ? undefined : before) as TableCounters;
}

function numbers(after: object, before: object | undefined): Record<string, number> {
  const base = new Map(Object.entries(before ?? {}));
  const grown: Record<string, number> = {};
  for (const [name, value] of Object.entries(after)) {
    if (typeof value === 'number') grown[name] = atLeastZero(value - Number(base.get(name) ?? 0));
  }
  return grown;
}

/** A checkpoint that somebody set by hand starts its account anew. */
function atLeastZero(value: number): number {
  return Math.max(0, value);
}
