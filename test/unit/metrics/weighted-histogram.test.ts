import fc from 'fast-check';
import { Histogram, Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { WeightedHistogram } from '../../../src/adapters/prometheus/weighted-histogram.ts';

const settings = {
  name: 'ages',
  help: 'Ages.',
  labelNames: ['flow'],
  buckets: [0.1, 1, 10],
};

test('a value n times at once leaves what n single values leave in a plain histogram', async () => {
  const values = fc.array(
    fc.record({
      flow: fc.constantFrom('f', 'g'),
      value: fc.constantFrom(0, 0.1, 0.5, 1, 9, 10, 11),
      count: fc.integer({ min: 1, max: 5 }),
    }),
  );
  await fc.assert(
    fc.asyncProperty(values, async (observed) => {
      const [weighted, plain] = [new Registry(), new Registry()];
      const ours = new WeightedHistogram({ ...settings, registers: [weighted] });
      const theirs = new Histogram({ ...settings, registers: [plain] });
      for (const { flow, value, count } of observed) {
        ours.add({ flow }, value, count);
        for (let index = 0; index < count; index += 1) theirs.observe({ flow }, value);
      }
      expect(series(await weighted.metrics())).toEqual(series(await plain.metrics()));
    }),
    { numRuns: 50 },
  );
});

/** Labels in the order of their names, sums within what adding in another order makes of them. */
function series(text: string): ReadonlyMap<string, number> {
  return new Map(
    text
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'))
      .map((line) => {
        const [, name = '', labels = '', value = ''] = /^(\w+)\{(.*)\} (\S+)$/.exec(line) ?? [];
        return [`${name} ${labels.split(',').sort().join(',')}`, Number(Number(value).toFixed(6))];
      }),
  );
}
