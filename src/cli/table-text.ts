/** A table for people. Invariant: every cell is one line; a wide one is cut with an ellipsis. */
export function tableText(
  headers: readonly string[],
  rows: readonly (readonly string[])[],
  cellMax = 60,
): string {
  const cells = [headers, ...rows].map((row) => row.map((cell) => oneLine(cell, cellMax)));
  const widths = headers.map((_, column) =>
    cells.reduce((width, row) => Math.max(width, [...(row[column] ?? '')].length), 0),
  );
  const lines = cells.map((row) =>
    row
      .map((cell, column) => cell + ' '.repeat((widths[column] ?? 0) - [...cell].length))
      .join(' | ')
      .trimEnd(),
  );
  const rule = widths.map((width) => '-'.repeat(width)).join('-+-');
  return `${[lines[0], rule, ...lines.slice(1)].join('\n')}\n`;
}

function oneLine(text: string, cellMax: number): string {
  const flat = text.replace(/\p{Cc}/gu, (control) =>
    control === '\n' ? '\\n' : control === '\t' ? '\\t' : '\ufffd',
  );
  const characters = [...flat];
  return characters.length <= cellMax ? flat : `${characters.slice(0, cellMax - 1).join('')}…`;
}
