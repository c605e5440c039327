/** A number with its noun: `1 row`, `2 rows`. */
export function countText(number: number, word: string): string {
  return `${number} ${word}${number === 1 ? '' : 's'}`;
}
