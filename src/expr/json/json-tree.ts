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

export function parseJson(text: string): JsonResult {
  const reader = new Reader(text);
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
  #at = 0;

  constructor(text: string) {
    this.#text = text;
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
      if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return;
      this.#at += 1;
    }
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
      case "'":
        return this.#string();
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
      const quote = this.#text[this.#at];
      const name = quote === '"' || quote === "'" ? this.#string() : undefined;
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
      if (code < 0x20) return undefined;
      if (code !== 0x5c) continue;
      out += this.#text.slice(from, at);
      const next = this.#text[at + 1] ?? '';
      if (next === 'u') {
        const hex = this.#text.slice(at + 2, at + 6);
        if (!/^[0-9a-fA-F]{4}$/.test(hex)) return undefined;
        out += String.fromCharCode(Number.parseInt(hex, 16));
        at += 5;
      } else {
        const meant = Object.hasOwn(escapes, next) ? escapes[next] : undefined;
        if (meant === undefined) return undefined;
        out += meant;
        at += 1;
      }
      from = at + 1;
    }
    return undefined;
  }

  #scalar(): JsonNode | undefined {
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
    this.#at = wordPattern.lastIndex;
    return words[word];
  }

  /** A number or word must not run on into other characters. */
  #endsAt(at: number): boolean {
    return !/[\w.+-]/.test(this.#text[at] ?? ' ');
  }
}
