const spent = new Map<string, number>();

/** Runs a part of the work and adds what it took, of all threads, to what the stage of this name took before. */
export function stage<Result>(name: string, run: () => Result): Result {
  const before = process.cpuUsage();
  const result = run();
  const { user, system } = process.cpuUsage(before);
  spent.set(name, (spent.get(name) ?? 0) + user + system);
  return result;
}

/** Prints each stage and their sum; a stage whose name says `(in …)` is part of another one. */
export function printStages(records: number, written: number): void {
  let sum = 0;
  for (const [name, micros] of spent) {
    if (!name.includes('(in ')) sum += micros;
    console.log(
      `${name.padEnd(34)} ${((micros * 1000) / records).toFixed(0).padStart(6)} ns CPU a record`,
    );
  }
  console.log(
    `${'all'.padEnd(34)} ${((sum * 1000) / records).toFixed(0).padStart(6)} ns CPU a record, ${(written / records).toFixed(2)} output records each`,
  );
}
