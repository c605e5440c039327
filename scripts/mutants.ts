import { rmSync } from 'node:fs';
import { mutants } from './mutant-list.ts';
import { refuse, scriptOptions, wholeNumber } from './script-options.ts';
import { type MutantOutcome, plant, tryMutant } from './try-mutant.ts';

const usage = `
npm run mutants -- [options]: plants one deliberate bug after another in a copy of the source and simulates until it is
found. The exit code is 1 where a bug is not found within its seeds, where the source without any bug fails, or where the
text that a bug changes is no longer there.
  --seeds N    how many are tried at most, default 20000
  --only NAME  this bug alone; may come more than once. Without: each, and the source without any
  --jobs N     bugs that are tried at the same time, default 2
`;
const values = scriptOptions(usage, {
  seeds: { type: 'string', default: '20000' },
  only: { type: 'string', multiple: true, default: [] },
  jobs: { type: 'string', default: '2' },
});
const seedsMax = wholeNumber('seeds', values.seeds);
const jobs = wholeNumber('jobs', values.jobs);

const unchanged = '(no mutant)';

function printTable(outcomes: readonly MutantOutcome[]): void {
  const width = Math.max(...outcomes.map(({ name }) => name.length));
  console.log(`${'mutant'.padEnd(width)}  found by seed  CPU s  first complaint`);
  for (const { name, seed, fault, seeds, cpuSeconds } of outcomes) {
    const found = seed === undefined ? `not in ${seeds}` : String(seed);
    const line = fault.split('\n')[0]?.slice(0, 110) ?? '';
    console.log(
      `${name.padEnd(width)}  ${found.padStart(13)}  ${cpuSeconds.toFixed(1).padStart(5)}  ${line}`,
    );
  }
}

const { only } = values;
const unknown = only.filter((wanted) => !mutants.some(({ name }) => name === wanted));
if (unknown.length > 0) refuse(`there is no mutant "${unknown.join('", "')}"`);
const chosen = mutants.filter(({ name }) => only.length === 0 || only.includes(name));
// Every patch has to fit before the first one is tried.
for (const one of chosen) rmSync(plant(one), { recursive: true });
const waiting = [{ name: unchanged, edits: [] }, ...chosen];
const outcomes: MutantOutcome[] = [];
const lane = async (): Promise<void> => {
  for (let one = waiting.shift(); one !== undefined; one = waiting.shift()) {
    const outcome = await tryMutant(one, seedsMax);
    outcomes.push(outcome);
    const found = outcome.seed === undefined ? 'not found' : `seed ${outcome.seed}`;
    console.error(`${outcome.name}: ${found}, ${outcome.cpuSeconds.toFixed(1)} s of CPU`);
  }
};
await Promise.all(Array.from({ length: jobs }, lane));
const order = new Map(chosen.map(({ name }, index) => [name, index]));
outcomes.sort((a, b) => (order.get(a.name) ?? -1) - (order.get(b.name) ?? -1));
printTable(outcomes);
const bad = outcomes.filter(({ name, seed }) => (name === unchanged) !== (seed === undefined));
console.log(
  bad.length === 0
    ? `${chosen.length} of ${chosen.length} mutants found`
    : `not as it should be: ${bad.map(({ name }) => name).join(', ')}`,
);
if (bad.length > 0) process.exitCode = 1;
