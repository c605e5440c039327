import type { DataType } from '../../data/types.ts';

/** A number of a JSON text that a JavaScript number would change. */
export class ExactNumber {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

const marker = '\u0000exact ';
const tokens = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

/** As JSON.parse, but no digit of a number is lost: what a JavaScript number can't hold is an `ExactNumber`. */
export function parseExactJson(text: string): unknown {
  // Whatever is wrong with it is told of the text as it was written.
  JSON.parse(text);
  const marked = text.replace(tokens, (token) =>
    token.startsWith('"') || String(Number(token)) === token
      ? token
      : JSON.stringify(`${marker}${token}`),
  );
  return JSON.parse(marked, (_, value: unknown) =>
    typeof value === 'string' && value.startsWith(marker)
      ? new ExactNumber(value.slice(marker.length))
      : value,
  );
}

/**
 * A value of a type in the form that `parseCanonical` takes, with its numbers written as numbers: a BIGINT or DECIMAL by
 * its digits, every other as a JavaScript number.
 */
export function withExactNumbers(type: DataType | undefined, json: unknown): unknown {
  const isByDigits = type?.kind === 'bigint' || type?.kind === 'decimal';
  if (json instanceof ExactNumber) return isByDigits ? json.text : Number(json.text);
  if (typeof json === 'number') return isByDigits ? String(json) : json;
  if (Array.isArray(json)) {
    const pair = type?.kind === 'map' ? [type.key, type.value] : undefined;
    return json.map((one: unknown) => {
      if (pair === undefined || !Array.isArray(one)) return withExactNumbers(elementOf(type), one);
      return one.map((part: unknown, at) => withExactNumbers(pair[at], part));
    });
  }
  if (typeof json !== 'object' || json === null) return json;
  const fields = type?.kind === 'struct' ? type.fields : [];
  return Object.fromEntries(
    Object.entries(json).map(([name, member]) => {
      const field = fields.find((one) => one.name === name);
      return [name, withExactNumbers(field?.type, member)];
    }),
  );
}

function elementOf(type: DataType | undefined): DataType | undefined {
  return type?.kind === 'array' ? type.element : undefined;
}
