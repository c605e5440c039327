import { expect, test } from 'vitest';
import { asciiText } from '../../../src/data/ascii-text.ts';

test('every length gives the text of its bytes', () => {
  const bytes = Buffer.from('The quick brown fox');
  for (let start = 0; start <= bytes.length; start += 1) {
    for (let end = start; end <= bytes.length; end += 1) {
      expect(asciiText(bytes, start, end)).toBe(bytes.toString('latin1', start, end));
    }
  }
});
