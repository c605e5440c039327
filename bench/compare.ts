import { existsSync, readFileSync, writeFileSync } from 'node:fs';

/** A run as it is kept: what was asked for, what came out, when and on what. */
export type KeptRun = {
  readonly asked: Readonly<Record<string, string | number>>;
  readonly figures: Readonly<Record<string, number>>;
  readonly date: string;
  readonly machine: string;
  readonly load: number;
};

export type Ratio = {
  readonly figure: string;
  readonly now: number;
  readonly before: number;
  readonly ratio: number;
};

/**
 * The figures of a run against those of the same run in a file of kept runs, as ratios: times of different machines, or of
 * different hours of one, say nothing by themselves. Undefined: the file has no such run.
 */
export function compareRun(run: KeptRun, kept: readonly KeptRun[]): readonly Ratio[] | undefined {
  const then = kept.find(({ asked }) => isSame(asked, run.asked));
  if (then === undefined) return undefined;
  return Object.entries(run.figures).flatMap(([figure, now]) => {
    const before = then.figures[figure];
    return before === undefined || before === 0
      ? []
      : [{ figure, now, before, ratio: Number((now / before).toFixed(3)) }];
  });
}

export function readKept(file: string): readonly KeptRun[] {
  return JSON.parse(readFileSync(file, 'utf8')) as KeptRun[];
}

/** Puts a run into a file of kept runs, in the place of the one that was asked for in the same way. */
export function keepRun(run: KeptRun, file: string): void {
  const others = existsSync(file)
    ? readKept(file).filter(({ asked }) => !isSame(asked, run.asked))
    : [];
  writeFileSync(file, `${JSON.stringify([...others, run], undefined, 2)}\n`);
}

function isSame(left: KeptRun['asked'], right: KeptRun['asked']): boolean {
  const names = new Set([...Object.keys(left), ...Object.keys(right)]);
  return [...names].every((name) => left[name] === right[name]);
}
