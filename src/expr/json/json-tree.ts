/**
 * JSON as Spark's functions read it: numbers keep their digits, members keep their order and may occur
 * twice, strings may stand in single quotes, NaN and the infinities are numbers.
 * Invariant: `parseJson` takes time and depth bounded by the text, and never throws.
 */
export type JsonNode = null | boolean | string | JsonNumber | readonly JsonNode[] | JsonObject;

export type JsonNumber = {
  readonly kind: 'number';
  /** As written; `NaN`, `Infinity` and `-Infinity` for what is no number. */
  readonly text: string;
  readonly isInteger: boolean;
};

export type JsonObject = {
  readonly kind: 'object';
  readonly members: readonly (readonly [string, JsonNode])[];
};

/** `empty`: there is nothing but space; `malformed`: no JSON. What follows the first value is ignored. */
export type JsonResult =
  | { readonly state: 'value'; readonly node: JsonNode }
  | { readonly state: 'empty' }
  | { readonly state: 'malformed' };

/** What else than JSON is taken, by the names of Spark's options. */
export type JsonSyntax = {
  readonly allowComments?: boolean;
  readonly allowUnquotedFieldNames?: boolean;
  readonly allowSingleQuotes?: boolean;
  readonly allowNumericLeadingZeros?: boolean;
  readonly allowNonNumericNumbers?: boolean;
  readonly allowBackslashEscapingAnyCharacter?: boolean;
  readonly allowUnquotedControlChars?: boolean;
};

/** What `from_json` takes without options. */
const recordSyntax: JsonSyntax = { allowSingleQuotes: true, allowNonNumericNumbers: true };

/** What the functions without options take, such as `get_json_object`. */
export const looseSyntax: JsonSyntax = { allowSingleQuotes: true, allowUnquotedControlChars: true };

const syntaxNames = [
  'allowComments',
  'allowUnquotedFieldNames',
  'allowSingleQuotes',
  'allowNumericLeadingZeros',
  'allowNonNumericNumbers',
  'allowBackslashEscapingAnyCharacter',
  'allowUnquotedControlChars',
] as const;

/** The syntax that options ask for; their names are in lower case. */
export function syntaxOf(options: ReadonlyMap<string, string>): JsonSyntax {
  const given = syntaxNames.flatMap((name) => {
    const value = options.get(name.toLowerCase())?.toLowerCase();
    return value === 'true' || value === 'false' ? [[name, value === 'true'] as const] : [];
  });
  return { ...recordSyntax, ...Object.fromEntries(given) };
}

export function parseJson(text: string, syntax: JsonSyntax = recordSyntax): JsonResult {
  const reader = new Reader(text, syntax);
  reader.skipSpace();
  if (reader.isAtEnd()) return { state: 'empty' };
  const node = reader.value(0);
  if (node === undefined) return { state: 'malformed' };
  // Jackson wants space behind a number that stands alone.
  if (isNumber(node) && !reader.isAtEnd() && !reader.isAtSpace()) return { state: 'malformed' };
  return { state: 'value', node };
}

export function isObject(node: JsonNode): node is JsonObject {
  return typeof node === 'object' && node !== null && 'members' in node;
}

export function isNumber(node: JsonNode): node is JsonNumber {
  return typeof node === 'object' && node !== null && 'text' in node;
}

export function isArray(node: JsonNode): node is readonly JsonNode[] {
  return Array.isArray(node);
}

/** The nesting that Spark's reader takes. */
const depthMax = 1000;

const paddedNumberPattern = /(-?)0*(?=\d)(\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)/y;
const numberPattern = /-?(?:0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?/y;
const wordPattern = /[+-]?(?:NaN|Infinity|INF)|true|false|null/y;

const words: Readonly<Record<string, JsonNode>> = {
  true: true,
  false: false,
  null: null,
  NaN: { kind: 'number', text: 'NaN', isInteger: false },
  Infinity: { kind: 'number', text: 'Infinity', isInteger: false },
  '+Infinity': { kind: 'number', text: 'Infinity', isInteger: false },
  INF: { kind: 'number', text: 'Infinity', isInteger: false },
  '+INF': { kind: 'number', text: 'Infinity', isInteger: false },
  '-Infinity': { kind: 'number', text: '-Infinity', isInteger: false },
  '-INF': { kind: 'number', text: '-Infinity', isInteger: false },
};

const escapes: Readonly<Record<string, string>> = {
  '"': '"',
  '\\': '\\',
  '/': '/',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
};

class Reader {
  readonly #text: string;
  readonly #syntax: JsonSyntax;
  #at = 0;

  constructor(text: string, syntax: JsonSyntax) {
    this.#text = text;
    this.#syntax = syntax;
  }

  isAtEnd(): boolean {
    return this.#at >= this.#text.length;
  }

  isAtSpace(): boolean {
    return /[ \n\r\t]/.test(this.#text[this.#at] ?? '');
  }

  skipSpace(): void {
    for (;;) {
      const code = this.#text.charCodeAt(this.#at);
      if (code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09) this.#at += 1;
      else if (code !== 0x2f || this.#syntax.allowComments !== true || !this.#comment()) return;
    }
  }

  #comment(): boolean {
    const mark = this.#text[this.#at + 1];
    if (mark !== '*' && mark !== '/') return false;
    const end = this.#text.indexOf(mark === '*' ? '*/' : '\n', this.#at + 2);
    if (end < 0 && mark === '*') return false;
    this.#at = end < 0 ? this.#text.length : end + (mark === '*' ? 2 : 1);
    return true;
  }

  /** undefined: malformed. */
  value(depth: number): JsonNode | undefined {
    if (depth > depthMax) return undefined;
    this.skipSpace();
    switch (this.#text[this.#at]) {
      case '{':
        return this.#object(depth);
      case '[':
        return this.#array(depth);
      case '"':
        return this.#string();
      case "'":
        return this.#syntax.allowSingleQuotes === true ? this.#string() : undefined;
      default:
        return this.#scalar();
    }
  }

  #object(depth: number): JsonObject | undefined {
    const members: (readonly [string, JsonNode])[] = [];
    this.#at += 1;
    this.skipSpace();
    if (this.#take('}')) return { kind: 'object', members };
    for (;;) {
      this.skipSpace();
      const name = this.#name();
      if (name === undefined) return undefined;
      this.skipSpace();
      if (!this.#take(':')) return undefined;
      const node = this.value(depth + 1);
      if (node === undefined) return undefined;
      members.push([name, node]);
      this.skipSpace();
      if (this.#take('}')) return { kind: 'object', members };
      if (!this.#take(',')) return undefined;
    }
  }

  #name(): string | undefined {
    const quote = this.#text[this.#at] ?? '';
    if (quote === '"') return this.#string();
    if (quote === "'" && this.#syntax.allowSingleQuotes === true) return this.#string();
    if (this.#syntax.allowUnquotedFieldNames !== true) return undefined;
    const name = /^[\p{L}\p{N}_$@#*+-]+/u.exec(this.#text.slice(this.#at))?.[0];
    this.#at += name?.length ?? 0;
    return name;
  }

  #array(depth: number): JsonNode[] | undefined {
    const elements: JsonNode[] = [];
    this.#at += 1;
    this.skipSpace();
    if (this.#take(']')) return elements;
    for (;;) {
      const node = this.value(depth + 1);
      if (node === undefined) return undefined;
      elements.push(node);
      this.skipSpace();
      if (this.#take(']')) return elements;
      if (!this.#take(',')) return undefined;
    }
  }

  #take(character: string): boolean {
    if (this.#text[this.#at] !== character) return false;
    this.#at += 1;
    return true;
  }

  #string(): string | undefined {
    const quote = this.#text.charCodeAt(this.#at);
    let from = this.#at + 1;
    let out = '';
    for (let at = from; at < this.#text.length; at += 1) {
      const code = this.#text.charCodeAt(at);
      if (code === quote) {
        out += this.#text.slice(from, at);
        this.#at = at + 1;
        // A lone surrogate has no UTF-8 form; Java writes a question mark for it.
        return out.replace(/\p{Cs}/gu, '?');
      }
      if (code < 0x20 && this.#syntax.allowUnquotedControlChars !== true) return undefined;
      if (code !== 0x5c) continue;
      out += this.#text.slice(from, at);
      const next = this.#text[at + 1] ?? '';
      if (next === 'u') {
        const hex = this.#text.slice(at + 2, at + 6);
        if (!/^[0-9a-fA-F]{4}$/.test(hex)) return undefined;
        out += String.fromCharCode(Number.parseInt(hex, 16));
        at += 5;
      } else {
        const meant = this.#escaped(next);
        if (meant === undefined) return undefined;
        out += meant;
        at += 1;
      }
      from = at + 1;
    }
    return undefined;
  }

  #escaped(next: string): string | undefined {
    if (Object.hasOwn(escapes, next)) return escapes[next];
    if (next === "'" && this.#syntax.allowSingleQuotes === true) return next;
    return this.#syntax.allowBackslashEscapingAnyCharacter === true && next !== ''
      ? next
      : undefined;
  }

  #scalar(): JsonNode | undefined {
    const padded = this.#paddedNumber();
    if (padded !== undefined) return padded;
    numberPattern.lastIndex = this.#at;
    const number = numberPattern.exec(this.#text);
    if (number !== null && this.#endsAt(numberPattern.lastIndex)) {
      this.#at = numberPattern.lastIndex;
      const isInteger = number[1] === undefined && number[2] === undefined;
      return { kind: 'number', text: number[0], isInteger };
    }
    wordPattern.lastIndex = this.#at;
    const word = wordPattern.exec(this.#text)?.[0];
    if (word === undefined || !this.#endsAt(wordPattern.lastIndex)) return undefined;
    const node = words[word];
    if (this.#syntax.allowNonNumericNumbers !== true && typeof node === 'object' && node !== null) {
      return undefined;
    }
    this.#at = wordPattern.lastIndex;
    return node;
  }

  /** A number with zeros in front, which it loses. */
  #paddedNumber(): JsonNumber | undefined {
    if (this.#syntax.allowNumericLeadingZeros !== true) return undefined;
    paddedNumberPattern.lastIndex = this.#at;
    const match = paddedNumberPattern.exec(this.#text);
    if (match === null || !this.#endsAt(paddedNumberPattern.lastIndex)) return undefined;
    this.#at = paddedNumberPattern.lastIndex;
    const [, sign = '', digits = ''] = match;
    return { kind: 'number', text: sign + digits, isInteger: /^\d+$/.test(digits) };
  }

  /** A number or word must not run on into other characters. */
  #endsAt(at: number): boolean {
    return !/[\w.+-]/.test(this.#text[at] ?? ' ');
  }
}
