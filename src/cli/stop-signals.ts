const signals = ['SIGTERM', 'SIGINT'] as const;

let react: (() => void) | undefined;

/**
 * Says what the process does when it is told to stop; the last word counts. Invariant: once somebody listens, somebody does for good. A signal that
 * has arrived and was not handed over yet is lost where the last listener goes, whichever comes after it, so the reaction changes
 * and the listener stays. A second signal ends the process.
 */
export function onStopSignal(reaction: () => void): void {
  const isFirst = react === undefined;
  react = reaction;
  if (isFirst) for (const signal of signals) process.once(signal, () => react?.());
}
