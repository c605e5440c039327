import type { Fault, Place } from './place.ts';

/** Longer lines are cut to a window around the span. */
const lineLengthMax = 160;

/**
 * A fault as a reader sees it: where it is, what it is, the source line with the span underlined, why,
 * and what to do. Invariant: it gives text for every fault, also when the source is not at hand.
 */
export function formatFault(fault: Fault, sourceText: string): string {
  const { place, severity, code, message, detail, hint } = fault;
  const lines = [`${place.file}:${place.line}:${place.column}: ${severity} ${code}: ${message}`];
  lines.push(...markedLine(place, sourceText));
  if (detail !== undefined) lines.push(detail);
  if (hint !== undefined) lines.push(`hint: ${hint}`);
  return lines.join('\n');
}

/** The line on which the span begins, and below it `^~~~` as far as the span goes on that line. */
function markedLine(place: Place, sourceText: string): string[] {
  const lineStart = place.start - (place.column - 1);
  if (sourceText === '' || lineStart < 0 || place.start > sourceText.length) return [];
  const lineEnd = endOfLine(sourceText, lineStart);
  if (place.start > lineEnd) return [];
  const from = Math.max(lineStart, Math.min(place.start - 40, lineEnd - lineLengthMax));
  const start = lineEnd - lineStart > lineLengthMax ? from : lineStart;
  const end = Math.min(lineEnd, start + lineLengthMax);
  const spanEnd = Math.min(Math.max(place.end, place.start + 1), Math.max(end, place.start + 1));
  const before = (start > lineStart ? '…' : '') + sourceText.slice(start, place.start);
  const shown = sourceText.slice(place.start, end) + (end < lineEnd ? '…' : '');
  // Tabs stay tabs, so that the mark stands below the span however wide they are shown.
  const indent = before.replace(/[^\t]/gu, ' ');
  const width = Math.max(1, [...sourceText.slice(place.start, spanEnd)].length);
  return [`  ${before}${shown}`, `  ${indent}^${'~'.repeat(width - 1)}`];
}

function endOfLine(text: string, start: number): number {
  const end = text.slice(start).search(/[\r\n]/);
  return end < 0 ? text.length : start + end;
}
