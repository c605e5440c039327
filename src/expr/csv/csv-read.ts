/** How a line of CSV is cut into fields. */
export type CsvFormat = {
  readonly separator: string;
  /** undefined: nothing is quoted. */
  readonly quote: string | undefined;
  readonly escape: string | undefined;
  readonly comment: string | undefined;
  readonly trimsStart: boolean;
  readonly trimsEnd: boolean;
};

/** A field, and whether it stood in quotes. */
export type CsvField = { readonly text: string; readonly isQuoted: boolean };

/**
 * The fields of one line. Invariant: it never fails: a quote that nothing closes ends with
 * the line, and one behind whose end there is more text belongs to the text. undefined: the line is a comment.
 */
export function csvFields(line: string, format: CsvFormat): readonly CsvField[] | undefined {
  const { separator, comment } = format;
  if (comment !== undefined && line.startsWith(comment)) return undefined;
  const fields: CsvField[] = [];
  let at = 0;
  for (;;) {
    const quoted = quotedField(line, at, format);
    if (quoted !== undefined) {
      fields.push({ text: quoted.text, isQuoted: true });
      at = quoted.end;
    } else {
      const found = line.indexOf(separator, at);
      const end = found < 0 ? line.length : found;
      fields.push({ text: trimmed(line.slice(at, end), format), isQuoted: false });
      at = end;
    }
    if (at >= line.length) return fields;
    at += separator.length;
    if (at >= line.length) {
      fields.push({ text: '', isQuoted: false });
      return fields;
    }
  }
}

function trimmed(text: string, { trimsStart, trimsEnd }: CsvFormat): string {
  const start = trimsStart ? text.replace(/^[\0-\x20]+/, '') : text;
  return trimsEnd ? start.replace(/[\0-\x20]+$/, '') : start;
}

function quotedField(
  line: string,
  from: number,
  format: CsvFormat,
): { readonly text: string; readonly end: number } | undefined {
  const { quote, escape: escaping, separator } = format;
  let at = from;
  if (format.trimsStart) while (line[at] === ' ') at += 1;
  if (quote === undefined || line[at] !== quote) return undefined;
  at += 1;
  let text = '';
  for (; at < line.length; at += 1) {
    const character = line[at] ?? '';
    const next = line[at + 1];
    if (character === escaping && (next === quote || (next === escaping && escaping !== quote))) {
      text += next;
      at += 1;
    } else if (character === quote) {
      let end = at + 1;
      while (line[end] === ' ') end += 1;
      const isEnd = end >= line.length || line.startsWith(separator, end);
      return isEnd ? { text, end } : undefined;
    } else {
      text += character;
    }
  }
  return { text, end: line.length };
}
