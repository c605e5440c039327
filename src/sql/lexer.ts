import type { IToken, TokenType } from 'chevrotain';
import type { Fault, Place } from '../base/place.ts';
import { K, Numeral, QuotedWord, symbols, Text, wordToken } from './tokens.ts';

/**
 * Cuts a text into tokens. Invariant: it always comes to the end of the text, in time linear in its
 * length; what is no token becomes a fault with its place, and tokens stand in the order of the text.
 */
export function lex(text: string, file: string): { tokens: IToken[]; faults: Fault[] } {
  const lexer = new Lexer(text, file);
  lexer.run();
  return { tokens: lexer.tokens, faults: lexer.faults };
}

// The character classes are Spark's: letters of any script, but only ASCII digits.
const blank = /[ \t\n\f\r\v\u00A0\u1680\u2000-\u200A\u2028\u202F\u205F\u3000\uFEFF]+/y;
const word = /[\p{L}0-9_]+/uy;
const fraction = /(?:\d+\.\d*|\.\d+)(?:e[+-]?\d+)?(?:[fd]|bd)?(?![\p{L}0-9_])/iuy;
const whole = /\d+(?:e[+-]?\d+(?:[fd]|bd)?|[lsyfd]|bd)?(?![\p{L}0-9_])/iuy;
const lineComment = /--(?:\\\n|[^\r\n])*/y;
const commentBorder = /\/\*|\*\//g;

class Lexer {
  readonly tokens: IToken[] = [];
  readonly faults: Fault[] = [];
  readonly #text: string;
  readonly #file: string;
  #at = 0;
  #line = 1;
  #lineStart = 0;
  /** Up to where line ends have been counted. */
  #counted = 0;

  constructor(text: string, file: string) {
    this.#text = text;
    this.#file = file;
  }

  run(): void {
    while (this.#at < this.#text.length) {
      if (!this.#skip()) this.#token();
    }
  }

  #skip(): boolean {
    const end = this.#match(blank) ?? this.#match(lineComment);
    if (end !== undefined) {
      this.#at = end;
      return true;
    }
    if (!this.#text.startsWith('/*', this.#at)) return false;
    if (this.#text.startsWith('/*+', this.#at)) this.#hint();
    else this.#blockComment();
    return true;
  }

  /** A hint changes no result, so nothing is kept of it; but it has its place and its form, as in Spark. */
  #hint(): void {
    const start = this.#at;
    const closing = this.#text.indexOf('*/', start + 3);
    if (closing < 0) {
      this.#blockComment();
      return;
    }
    const form = 'A comment begins with /* alone; a hint is SELECT /*+ name(table, …) */.';
    const behind = this.tokens.at(-1)?.tokenType;
    if (behind !== K.SELECT) {
      const message = 'the hint stands elsewhere than behind SELECT';
      this.#fault(start, closing + 2, 'PARSE_SYNTAX_ERROR', message, { hint: form });
    } else if (!isHint(this.#text.slice(start + 3, closing))) {
      const message = 'the hint is no list of names';
      this.#fault(start, closing + 2, 'PARSE_SYNTAX_ERROR', message, { hint: form });
    }
    this.#at = closing + 2;
  }

  /** Comments nest. */
  #blockComment(): void {
    const start = this.#at;
    let depth = 0;
    commentBorder.lastIndex = start;
    for (;;) {
      const border = commentBorder.exec(this.#text);
      if (border === null) break;
      depth += border[0] === '/*' ? 1 : -1;
      if (depth === 0) {
        this.#at = border.index + 2;
        return;
      }
    }
    this.#at = this.#text.length;
    this.#fault(start, start + 2, 'UNCLOSED_BRACKETED_COMMENT', 'the comment is never closed', {
      hint: 'Comments nest: each /* needs a */ of its own.',
    });
  }

  #token(): void {
    const start = this.#at;
    const first = this.#text[start] ?? '';
    const isRaw = (first === 'r' || first === 'R') && /['"]/.test(this.#text[start + 1] ?? '');
    if (isRaw) {
      const quote = this.#text[start + 1] ?? '';
      this.#quoted(Text, this.#text.indexOf(quote, start + 2), start);
    } else if (first === "'" || first === '"') {
      this.#quoted(Text, this.#closingQuote(first, true), start);
    } else if (first === '`') {
      this.#quoted(QuotedWord, this.#closingQuote(first, false), start);
    } else {
      this.#plain(start);
    }
  }

  #plain(start: number): void {
    const numberEnd = this.#match(fraction) ?? this.#match(whole);
    const wordEnd = this.#match(word);
    if (numberEnd !== undefined) this.#push(Numeral, numberEnd);
    else if (wordEnd !== undefined)
      this.#push(wordToken(this.#text.slice(start, wordEnd)), wordEnd);
    else this.#symbol(start);
  }

  #symbol(start: number): void {
    const symbol = symbols.find(([spelling]) => this.#text.startsWith(spelling, start));
    if (symbol === undefined) this.#unknown(start);
    else this.#push(symbol[1], start + symbol[0].length);
  }

  /** A run of characters that begin no token is one fault. */
  #unknown(start: number): void {
    const known = /[\p{L}0-9_\s'"`<>=!+\-*/%~&|^:?,;.()[\]]/uy;
    let end = start;
    do {
      end += (this.#text.codePointAt(end) ?? 0) > 0xffff ? 2 : 1;
      known.lastIndex = end;
    } while (end < this.#text.length && !known.test(this.#text));
    const shown = JSON.stringify(this.#text.slice(start, Math.min(end, start + 20)));
    this.#at = end;
    this.#fault(start, end, 'PARSE_SYNTAX_ERROR', `found ${shown}, which is not SQL`, {
      hint: 'Names with other characters than letters, digits and _ stand in `backticks`.',
    });
  }

  #closingQuote(quote: string, escapes: boolean): number {
    let at = this.#at + 1;
    for (; at < this.#text.length; at += 1) {
      const character = this.#text[at];
      if (escapes && character === '\\') at += 1;
      else if (character === quote) {
        if (this.#text[at + 1] !== quote) return at;
        at += 1;
      }
    }
    return -1;
  }

  #quoted(type: TokenType, closing: number, start: number): void {
    if (closing >= 0) {
      this.#push(type, closing + 1);
      return;
    }
    const what = type === Text ? 'string' : 'quoted name';
    this.#at = this.#text.length;
    this.#fault(start, start + 1, 'PARSE_SYNTAX_ERROR', `the ${what} is never closed`, {
      hint:
        type === Text
          ? "A quote inside a string is written twice ('it''s') or behind a backslash ('it\\'s')."
          : 'A backtick inside a quoted name is written twice.',
    });
  }

  #match(pattern: RegExp): number | undefined {
    pattern.lastIndex = this.#at;
    return pattern.test(this.#text) ? pattern.lastIndex : undefined;
  }

  #push(type: TokenType, end: number): void {
    const place = this.#place(this.#at, end);
    this.tokens.push({
      image: this.#text.slice(this.#at, end),
      startOffset: this.#at,
      endOffset: end - 1,
      startLine: place.line,
      startColumn: place.column,
      tokenTypeIdx: type.tokenTypeIdx ?? 0,
      tokenType: type,
    });
    this.#at = end;
  }

  #fault(start: number, end: number, code: string, message: string, more: { hint: string }): void {
    const place = this.#place(start, end);
    this.faults.push({ severity: 'error', code, message, ...more, place });
  }

  #place(start: number, end: number): Place {
    for (; this.#counted < start; this.#counted += 1) {
      const character = this.#text[this.#counted];
      const endsLine =
        character === '\n' || (character === '\r' && this.#text[this.#counted + 1] !== '\n');
      if (endsLine) {
        this.#line += 1;
        this.#lineStart = this.#counted + 1;
      }
    }
    return { file: this.#file, start, end, line: this.#line, column: start - this.#lineStart + 1 };
  }
}

/** Whether it begins with a name, and every parenthesis in it has its partner. */
function isHint(text: string): boolean {
  let depth = 0;
  for (const character of text) {
    if (character === '(') depth += 1;
    else if (character === ')') depth -= 1;
    if (depth < 0) return false;
  }
  return depth === 0 && /^\s*[\p{L}_`]/u.test(text);
}
