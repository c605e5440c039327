import { expect, test } from 'vitest';
import { scrubText } from '../../../src/cli/scrub-text.ts';

const right = {
  partition: 0,
  state: 'right',
  stateOffset: 1,
  outputEnd: 2,
  keys: 1,
  differing: [],
  differences: 0,
} as const;

test.each([
  [
    'a marker behind the last record is named',
    [right],
    ' (offsets beyond a state that is right are markers of transactions)\n',
  ],
  ['nothing is behind it', [{ ...right, outputEnd: 1 }], 'nothing contradicts the output topic\n'],
  [
    'what is behind is not right yet',
    [{ ...right, state: 'behind' as const }],
    'nothing contradicts the output topic\n',
  ],
  [
    'a key differs',
    [{ ...right, differences: 1, differing: ['{"k":1}'] }],
    '1 key differs; the output topic rules: tidemark state rebuild t\n',
  ],
])('a scrub tells what it found: %s', (_, partitions, end) => {
  const text = scrubText('t', partitions);
  expect(text.endsWith(end), text).toBe(true);
});
