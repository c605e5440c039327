/**
 * One line of CSV (RFC 4180, ended by a line feed). Invariant: NULL is an empty field and the empty text is `""`,
 * so that a reader can tell them apart.
 */
export function csvLine(cells: readonly (string | undefined)[]): string {
  return `${cells.map(csvField).join(',')}\n`;
}

function csvField(cell: string | undefined): string {
  if (cell === undefined) return '';
  return cell === '' || /[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;
}
