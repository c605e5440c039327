import { FlowError } from '../../base/errors.ts';

/**
 * A CSV file (RFC 4180, UTF-8, names in the first line) as lines of JSON objects of texts; an empty field without quotes
 * has no member. Invariant: no character of a field is lost or changed.
 */
export function csvLines(content: Buffer): Buffer {
  const [names = [], ...records] = csvRecords(content.toString('utf8').replace(/^\ufeff/, ''));
  const header = names.map(({ text }) => text.trim());
  const lines = records.map((fields, index) => {
    if (fields.length > header.length) {
      throw new FlowError('FILE_UNREADABLE', `record ${index + 1} of the CSV has too many fields`, {
        detail: `It has ${fields.length}, and the first line names ${header.length}.`,
      });
    }
    const members = fields.flatMap(({ text, isQuoted }, i): [string, string][] =>
      text === '' && !isQuoted ? [] : [[header[i] ?? '', text]],
    );
    return JSON.stringify(Object.fromEntries(members));
  });
  return Buffer.from(lines.join('\n'));
}

type Field = { readonly text: string; readonly isQuoted: boolean };

function csvRecords(text: string): Field[][] {
  const records: Field[][] = [];
  let fields: Field[] = [];
  let at = 0;
  const endRecord = (): void => {
    const isBlank = fields.length === 1 && fields[0]?.text === '' && !fields[0].isQuoted;
    if (!isBlank) records.push(fields);
    fields = [];
  };
  while (at < text.length) {
    const field = text[at] === '"' ? quotedField(text, at) : plainField(text, at);
    fields.push(field);
    at = field.end;
    if (text[at] === ',') {
      at += 1;
      // A comma at the very end stands before one more field, an empty one.
      if (at < text.length) continue;
      fields.push({ text: '', isQuoted: false });
    }
    endRecord();
    at += text.startsWith('\r\n', at) ? 2 : 1;
  }
  return records;
}

type Cut = Field & { readonly end: number };

function plainField(text: string, from: number): Cut {
  const length = text.slice(from).search(/[,\r\n]/);
  const end = length < 0 ? text.length : from + length;
  return { text: text.slice(from, end), isQuoted: false, end };
}

function quotedField(text: string, from: number): Cut {
  let value = '';
  let at = from + 1;
  for (;;) {
    const quote = text.indexOf('"', at);
    if (quote < 0) throw new FlowError('FILE_UNREADABLE', 'a quote of the CSV is not closed');
    value += text.slice(at, quote);
    at = quote + 1;
    if (text[at] !== '"') return { text: value, isQuoted: true, end: at };
    value += '"';
    at += 1;
  }
}
