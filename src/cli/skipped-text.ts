import type { SkippedPlace } from '../refresh/refresh-report.ts';
import { countText } from './count-text.ts';

const namedMax = 5;

/** Records that flows step over, as one line that names the first of them; nothing where there are none. */
export function skippedText(skipped: readonly SkippedPlace[]): string {
  const [first] = skipped;
  if (first === undefined) return '';
  const named = skipped
    .slice(0, namedMax)
    .map(({ topic, partition, offset }) => `${topic}/${partition}@${offset}`);
  const more = skipped.length > namedMax ? ', …' : '';
  return `  steps over ${countText(skipped.length, 'record')} that somebody had it skip, so that what they would give is left out: ${named.join(', ')}${more} (tidemark checkpoint show ${first.flow})\n`;
}
