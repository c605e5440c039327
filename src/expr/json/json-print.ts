import { formatDouble } from '../../data/double-text.ts';
import { isArray, isNumber, isObject, type JsonNode, type JsonNumber } from './json-tree.ts';

/** Compact JSON as Spark's writer gives it: integers keep their digits, fractions are doubles. */
export function printJson(node: JsonNode): string {
  if (node === null) return 'null';
  if (typeof node === 'boolean') return String(node);
  if (typeof node === 'string') return quoteJson(node);
  if (isNumber(node)) return numberText(node);
  if (isArray(node)) return `[${node.map(printJson).join(',')}]`;
  if (!isObject(node)) return 'null';
  const members = node.members.map(([name, value]) => `${quoteJson(name)}:${printJson(value)}`);
  return `{${members.join(',')}}`;
}

function numberText(number: JsonNumber): string {
  if (number.isInteger) return number.text === '-0' ? '0' : number.text;
  return doubleText(Number(number.text));
}

/** Compact JSON set out in lines, a member a line; arrays stay in theirs. */
export function prettyJson(compact: string): string {
  let depth = 0;
  let out = '';
  const line = (): string => `\n${'  '.repeat(depth)}`;
  const inObject: boolean[] = [];
  for (const [token] of compact.matchAll(/"(?:[^"\\]|\\.)*"|[{}[\],:]|[^"{}[\],:]+/g)) {
    switch (token) {
      case '{':
        inObject.push(true);
        depth += 1;
        out += `{${line()}`;
        break;
      case '[':
        inObject.push(false);
        out += '[ ';
        break;
      case '}':
        inObject.pop();
        depth -= 1;
        out = out.endsWith(`{\n${'  '.repeat(depth + 1)}`)
          ? `${out.slice(0, out.lastIndexOf('{'))}{ }`
          : `${out}${line()}}`;
        break;
      case ']':
        inObject.pop();
        out += out.endsWith('[ ') ? ']' : ' ]';
        break;
      case ',':
        out += inObject.at(-1) === true ? `,${line()}` : ', ';
        break;
      case ':':
        out += ' : ';
        break;
      default:
        out += token;
    }
  }
  return out;
}

/** What is no number is a string in JSON. */
export function doubleText(
  value: number,
  format: (value: number) => string = formatDouble,
): string {
  const text = format(value);
  return Number.isFinite(value) ? text : `"${text}"`;
}

const special: Readonly<Record<string, string>> = {
  '"': '\\"',
  '\\': '\\\\',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
};

export function quoteJson(text: string): string {
  const escaped = text.replace(
    // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
    /["\\\u0000-\u001f]/g,
    (character) =>
      special[character] ??
      `\\u${character.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}`,
  );
  return `"${escaped}"`;
}
