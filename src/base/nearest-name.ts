/** Up to three of the candidates that a writer may have meant, nearest first; none when all are far off. */
export function nearestNames(name: string, candidates: readonly string[]): readonly string[] {
  const wanted = name.toLowerCase();
  const most = Math.max(1, Math.floor(wanted.length / 3));
  const near = candidates
    .map((candidate) => ({ candidate, distance: distance(wanted, candidate.toLowerCase()) }))
    .filter((found) => found.distance <= most)
    .sort((a, b) => a.distance - b.distance || (a.candidate < b.candidate ? -1 : 1));
  return near.slice(0, 3).map((found) => found.candidate);
}

/** Levenshtein's distance, with a swap of neighbours as one step. */
function distance(a: string, b: string): number {
  let before: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i += 1) {
    const current = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const cost = a[i - 1] === b[j - 1] ? 0 : 1;
      let best = Math.min((last[j] ?? 0) + 1, (current[j - 1] ?? 0) + 1, (last[j - 1] ?? 0) + cost);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        best = Math.min(best, (before[j - 2] ?? 0) + 1);
      }
      current.push(best);
    }
    before = last;
    last = current;
  }
  return last[b.length] ?? 0;
}
