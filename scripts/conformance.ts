import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  type CorpusCase,
  isRight,
  judge,
  readCorpus,
  readSource,
  type Verdict,
} from '../test/support/expression-corpus.ts';
import { scriptOptions } from './script-options.ts';

const usage = `
npm run conformance -- [options]: how the expression corpus stands, by category.
  --list VERDICT   prints the cases of one verdict, or those that are open
  --category NAME  looks at one category
  --missing        counts what keeps cases open
  --write-open     writes the list of open cases that the corpus test checks
`;
const values = scriptOptions(usage, {
  list: { type: 'string' },
  category: { type: 'string' },
  missing: { type: 'boolean', default: false },
  'write-open': { type: 'boolean', default: false },
});
const folder = join(import.meta.dirname, '../test/corpus/data/expr');
const names = readdirSync(folder)
  .filter((name) => name.endsWith('.jsonl'))
  .map((name) => name.slice(0, -'.jsonl'.length));
const source = readSource(join(folder, 'fuzz-source.json'));

type Tally = { total: number; right: number; byVerdict: Map<Verdict, number> };

const { category, list: listed, missing: isMissing } = values;
const tallies = new Map<string, Tally>();
const missing = new Map<string, number>();
const cases = readCorpus(folder, names).filter(
  (item) => category === undefined || item.cat.includes(category),
);
const open: string[] = [];
const started = performance.now();

function count(key: string, verdict: Verdict): void {
  const tally = tallies.get(key) ?? { total: 0, right: 0, byVerdict: new Map() };
  tally.total += 1;
  if (isRight(verdict)) tally.right += 1;
  tally.byVerdict.set(verdict, (tally.byVerdict.get(verdict) ?? 0) + 1);
  tallies.set(key, tally);
}

function see(item: CorpusCase): void {
  const { verdict, detail } = judge(item, source);
  count(`${item.cat} (tier ${item.tier})`, verdict);
  count(`all (tier ${item.tier})`, verdict);
  if (!isRight(verdict)) {
    open.push(item.id);
    const reason = verdict === 'not_supported' ? detail.slice(0, 70) : verdict;
    missing.set(reason, (missing.get(reason) ?? 0) + 1);
  }
  if (listed !== undefined && (listed === verdict || (listed === 'open' && !isRight(verdict)))) {
    process.stdout.write(
      `${item.id}  ${item.sql}\n    ${verdict}: ${detail.split('\n').slice(0, 4).join(' | ')}\n`,
    );
  }
}

for (const item of cases) see(item);
const seconds = (performance.now() - started) / 1000;

for (const [key, tally] of [...tallies].sort(([a], [b]) => (a < b ? -1 : 1))) {
  const parts = [...tally.byVerdict]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([verdict, n]) => `${verdict} ${n}`);
  process.stdout.write(
    `${key.padEnd(28)} ${String(tally.right).padStart(5)} of ${String(tally.total).padEnd(5)} ${parts.join(', ')}\n`,
  );
}
if (isMissing) {
  for (const [reason, n] of [...missing].sort(([, a], [, b]) => b - a).slice(0, 120)) {
    process.stdout.write(`${String(n).padStart(5)}  ${reason}\n`);
  }
}
if (values['write-open'] && category === undefined) {
  const list = `${JSON.stringify(open.sort(), null, 1)}\n`;
  writeFileSync(join(import.meta.dirname, '../test/corpus/data/expr-open.json'), list);
}
process.stdout.write(`${cases.length} cases in ${seconds.toFixed(1)} s\n`);
