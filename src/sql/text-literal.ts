/**
 * What a string literal means, by Spark's rules. Invariant: `textOfLiteral(literalOfText(t))` is `t`.
 */
export function textOfLiteral(literal: string): string {
  const first = literal[0];
  if (first === 'r' || first === 'R') return literal.slice(2, -1);
  const body = literal.slice(1, -1);
  return body.replace(escapes[first === '"' ? '"' : "'"], resolveEscape);
}

/** The literal in single quotes that gives the text back. */
export function literalOfText(text: string): string {
  let body = '';
  for (const character of text) body += escaped[character] ?? character;
  return `'${body}'`;
}

const escapes = {
  "'": /''|\\(?:u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[01][0-7]{2}|[\s\S])/g,
  '"': /""|\\(?:u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[01][0-7]{2}|[\s\S])/g,
} as const;

const meanings: Readonly<Record<string, string>> = {
  '0': '\0',
  b: '\b',
  n: '\n',
  r: '\r',
  t: '\t',
  Z: '\x1A',
  '%': '\\%',
  _: '\\_',
};

const escaped: Readonly<Record<string, string>> = {
  '\\': '\\\\',
  "'": "\\'",
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  // Not \0: a digit behind it would make it an octal escape.
  '\0': '\\u0000',
  '\b': '\\b',
  '\x1A': '\\Z',
};

function resolveEscape(written: string): string {
  const kind = written[1] ?? '';
  if (written[0] !== '\\') return kind;
  if (written.length === 2) return meanings[kind] ?? kind;
  if (written.length === 4) return String.fromCharCode(Number.parseInt(written.slice(1), 8));
  const code = Number.parseInt(written.slice(2), 16);
  return code <= 0x10ffff ? String.fromCodePoint(code) : '\uFFFD';
}
