import { FlowError } from '../../base/errors.ts';
import type { Catalog, CatalogEntry } from './catalog.ts';

/** What a lock says of the command that holds a flow. */
export type LockFacts = {
  readonly flow: string;
  /** The command as a person would repeat it. */
  readonly command: string;
  /** Tells one attempt from another. */
  readonly token: string;
  /** After this time nobody minds it any more; undefined: until the command has come to its end, crashes or not. */
  readonly untilMs: number | undefined;
};

/**
 * Holds flows for one command: no instance takes a partition of them over, and no other command touches them.
 *
 * Invariant: of two commands that lock at once the one whose record came first in the catalog goes on. An instance that
 * takes over writes to the catalog first, so either it finds the lock there, or it is in the group by then, where the
 * command finds it.
 */
export async function lockFlows(
  catalog: Catalog,
  locks: readonly LockFacts[],
  nowMs: number,
): Promise<void> {
  await catalog.read();
  for (const { flow, token } of locks) refuseOthers(catalog, flow, token, nowMs);
  await catalog.write(
    locks.map((lock) => ({
      kind: 'lock' as const,
      name: lockName(lock),
      // The next attempt of a command that was interrupted holds what it held since then.
      value: {
        ...lock,
        untilMs: lock.untilMs ?? null,
        sinceMs: sinceOf(catalog, lock) ?? nowMs,
        ...(hasBegun(catalog, lock.flow, lock.token) ? { hasBegun: true } : {}),
      },
    })),
    nowMs,
  );
  for (const lock of locks) {
    const mine = catalog.get('lock', lockName(lock))?.offset ?? 0;
    const earlier = locksOf(catalog, lock.flow, nowMs).find(
      ({ value, offset }) => value['token'] !== lock.token && offset < mine,
    );
    if (earlier === undefined) continue;
    await unlockFlows(catalog, locks, nowMs);
    throw locked(lock.flow, earlier);
  }
}

export async function unlockFlows(
  catalog: Catalog,
  locks: readonly Pick<LockFacts, 'flow' | 'token'>[],
  nowMs: number,
): Promise<void> {
  await catalog.write(
    locks.map((lock) => ({ kind: 'lock' as const, name: lockName(lock), value: undefined })),
    nowMs,
  );
}

/** The lock that holds a flow, if one does. */
export function lockOf(catalog: Catalog, flow: string, nowMs: number): CatalogEntry | undefined {
  return locksOf(catalog, flow, nowMs)[0];
}

/** Throws where a command holds the flow: whoever would read or write for it has to wait. */
export function refuseLocked(catalog: Catalog, flow: string, nowMs: number): void {
  const held = lockedError(catalog, flow, nowMs);
  if (held !== undefined) throw held;
}

/** What somebody is told who needs a flow that a command holds; undefined: none does. */
export function lockedError(catalog: Catalog, flow: string, nowMs: number): FlowError | undefined {
  const held = lockOf(catalog, flow, nowMs);
  return held === undefined ? undefined : locked(flow, held);
}

/** Notes in lasting locks that their command changes something from here on: only the same command ends it. */
export async function markBegun(
  catalog: Catalog,
  locks: readonly Pick<LockFacts, 'flow' | 'token'>[],
  nowMs: number,
): Promise<void> {
  await catalog.write(
    locks.map((lock) => ({
      kind: 'lock' as const,
      name: lockName(lock),
      value: { ...catalog.get('lock', lockName(lock))?.value, hasBegun: true },
    })),
    nowMs,
  );
}

/** Whether an attempt of this token that holds a flow has changed something, and has not come to its end. */
export function hasBegun(catalog: Catalog, flow: string, token: string): boolean {
  return catalog.get('lock', lockName({ flow, token }))?.value['hasBegun'] === true;
}

function sinceOf(catalog: Catalog, lock: LockFacts): number | undefined {
  const known = catalog.get('lock', lockName(lock))?.value['sinceMs'];
  return typeof known === 'number' && lock.untilMs === undefined ? known : undefined;
}

function refuseOthers(catalog: Catalog, flow: string, token: string, nowMs: number): void {
  const other = locksOf(catalog, flow, nowMs).find(({ value }) => value['token'] !== token);
  if (other !== undefined) throw locked(flow, other);
}

function locksOf(catalog: Catalog, flow: string, nowMs: number): readonly CatalogEntry[] {
  return catalog
    .all('lock')
    .filter(({ value }) => {
      const untilMs = value['untilMs'];
      return value['flow'] === flow && (typeof untilMs !== 'number' || untilMs > nowMs);
    })
    .sort((left, right) => left.offset - right.offset);
}

/** How the catalog names a lock. */
export function lockName({ flow, token }: Pick<LockFacts, 'flow' | 'token'>): string {
  return `${flow}/${token}`;
}

function locked(flow: string, { value }: CatalogEntry): FlowError {
  const { command, sinceMs, untilMs } = value;
  const since = new Date(Number(sinceMs)).toISOString();
  const isPassing = typeof untilMs === 'number';
  return new FlowError('TABLE_LOCKED', `flow "${flow}" is held by a command`, {
    detail: `"${String(command)}" holds it since ${since}${isPassing ? `, until ${new Date(untilMs).toISOString()} at the latest` : ''}.`,
    hint: isPassing
      ? 'Wait until it has ended, then start again.'
      : 'Wait until it has ended. If it was interrupted, start the same command once more: it goes on where it stood.',
  });
}
