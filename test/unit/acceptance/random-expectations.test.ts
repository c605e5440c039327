import { describe, test } from 'vitest';
import { Random } from '../../../src/testing/random.ts';
import { expectCaseToPass } from '../../support/random-case.ts';

/** Tables with expectations at random, beside a definition that shares nothing with the product. */

type Record = { readonly k: number; readonly seq: number; readonly n: number | null };
type Rule = {
  readonly name: string;
  readonly sql: string;
  /** undefined: NULL. */
  readonly isMet: (record: Record) => boolean | undefined;
  readonly action: '' | ' ON VIOLATION DROP ROW' | ' ON VIOLATION FAIL UPDATE';
};

const rules: readonly Pick<Rule, 'sql' | 'isMet'>[] = [
  { sql: 'n > 1', isMet: ({ n }) => (n === null ? undefined : n > 1) },
  { sql: 'n IS NOT NULL', isMet: ({ n }) => n !== null },
  { sql: 'seq < 7', isMet: ({ seq }) => seq < 7 },
  {
    sql: 'seq <> 3 OR n = 2',
    isMet: ({ seq, n }) => seq !== 3 || (n === null ? undefined : n === 2),
  },
  { sql: 'k + seq > 2', isMet: ({ k, seq }) => k + seq > 2 },
  {
    sql: 'NOT (n = 2 AND k = 1)',
    isMet: ({ k, n }) => (k !== 1 ? true : n === null ? undefined : n !== 2),
  },
];

function caseOf(seed: number): string {
  const random = new Random(seed);
  const kind = random.pick(['replaced', 'appended', 'viewed']) ?? 'replaced';
  const chosen = random.shuffled(rules).slice(0, 1 + random.below(3));
  const given = chosen.map((rule, at): Rule => {
    const action = random.pick(['', ' ON VIOLATION DROP ROW', ' ON VIOLATION DROP ROW'] as const);
    return { ...rule, name: `rule_${at}`, action: action ?? '' };
  });
  const records = Array.from(
    { length: 5 + random.below(25) },
    (): Record => ({
      k: random.below(4),
      seq: random.below(9),
      n: random.pick([0, 1, 2, 3, null]) ?? null,
    }),
  );
  const constraints = given
    .map(({ name, sql, action }) => `CONSTRAINT ${name} EXPECT (${sql})${action}`)
    .join(', ');
  const replacing = 'FLOW REPLACE USING (k) SEQUENCE BY seq BY NAME';
  const texts = {
    replaced: `CREATE STREAMING TABLE t (${constraints}) ${replacing} SELECT k, seq, n FROM STREAM(src) WHERE seq > 0;`,
    appended: `CREATE STREAMING TABLE t (${constraints}) AS SELECT k, seq, n FROM STREAM(src) WHERE seq > 0;`,
    viewed: `CREATE TEMPORARY VIEW v (${constraints}) AS SELECT k, seq, n FROM STREAM(src) WHERE seq > 0;
CREATE STREAMING TABLE t ${replacing} SELECT k, seq, n FROM v;`,
  };
  const seen = records.filter(({ seq }) => seq > 0);
  const kept = seen.filter((one) =>
    given.every((rule) => rule.action === '' || rule.isMet(one) === true),
  );
  const newest = kept.filter(({ k, seq }) => kept.every((one) => one.k !== k || one.seq <= seq));
  const prefix = kind === 'viewed' ? 'v.' : '';
  return JSON.stringify({
    name: `seed ${seed}`,
    sql: texts[kind as keyof typeof texts],
    sources: { src: 'k INT, seq BIGINT, n INT' },
    inputs: { src: records.map((one) => JSON.stringify(one)) },
    target: 't',
    schema: [
      ['k', 'int'],
      ['seq', 'bigint'],
      ['n', 'int'],
    ],
    expected: (kind === 'appended' ? kept : newest).map(({ k, seq, n }) => [k, seq, n]),
    expectations: Object.fromEntries(
      given.map(({ name, isMet }) => [
        `${prefix}${name}`,
        { rows: seen.length, violations: seen.filter((one) => isMet(one) !== true).length },
      ]),
    ),
  });
}

describe('EX-02 EX-04 EX-12 any expectations keep and count what they say, under every schedule', () => {
  test.each(Array.from({ length: 10 }, (_, at) => at + 1))('seed %i', async (seed) => {
    await expectCaseToPass(caseOf(seed));
  });
});
