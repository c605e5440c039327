import {
  classOfEscape,
  classOfProperty,
  foldedTest,
  isLineEnd,
  negated,
} from './code-point-class.ts';
import {
  type CodePointTest,
  type RegexNode,
  RegexSyntaxError,
  type RegexTree,
} from './regex-tree.ts';

type Flags = {
  readonly ignoreCase: boolean;
  readonly unicode: boolean;
  readonly dotAll: boolean;
  readonly multiline: boolean;
  readonly comments: boolean;
};

const noFlags: Flags = {
  ignoreCase: false,
  unicode: false,
  dotAll: false,
  multiline: false,
  comments: false,
};

const flagNames: Readonly<Record<string, keyof Flags | undefined>> = {
  i: 'ignoreCase',
  u: 'unicode',
  U: 'unicode',
  s: 'dotAll',
  m: 'multiline',
  x: 'comments',
  d: undefined,
};

/** Reads a pattern of Java's syntax; throws RegexSyntaxError. */
export function parseRegex(pattern: string): RegexTree {
  return new RegexParser(pattern).tree();
}

/** Groups nest no deeper than the stack bears. */
const depthMax = 250;
const mark = /^[\p{M}\u200d]$/u;
const isMark: CodePointTest = (c) => mark.test(String.fromCodePoint(c));

/** `\X`: a character with the marks behind it, or the two that end a line; it is never taken apart. */
const graphemeCluster: RegexNode = {
  node: 'atomic',
  item: {
    node: 'choice',
    items: [
      {
        node: 'sequence',
        items: [
          { node: 'one', test: (c) => c === 0x0d },
          { node: 'one', test: (c) => c === 0x0a },
        ],
      },
      {
        node: 'sequence',
        items: [
          { node: 'one', test: () => true },
          {
            ...{ node: 'repeat', least: 0, most: Number.POSITIVE_INFINITY, mode: 'greedy' },
            item: { node: 'one', test: isMark },
          },
        ],
      },
    ],
  },
};

const repeatMax = 1000;

class RegexParser {
  readonly #text: readonly string[];
  #at = 0;
  #flags: Flags = noFlags;
  #groups = 0;
  #depth = 0;
  #isContextual = false;
  readonly #names = new Map<string, number>();

  constructor(pattern: string) {
    this.#text = Array.from(pattern);
  }

  tree(): RegexTree {
    const root = this.#choice();
    if (this.#at < this.#text.length) throw new RegexSyntaxError('a ) has no (');
    return {
      root,
      groupCount: this.#groups,
      groupNames: this.#names,
      isContextual: this.#isContextual,
    };
  }

  #peek(offset = 0): string {
    return this.#text[this.#at + offset] ?? '';
  }

  #take(wanted: string): boolean {
    if (!Array.from(wanted).every((character, i) => this.#peek(i) === character)) return false;
    this.#at += wanted.length;
    return true;
  }

  #next(): string {
    const character = this.#text[this.#at];
    if (character === undefined) throw new RegexSyntaxError('the pattern ends too early');
    this.#at += 1;
    return character;
  }

  #choice(): RegexNode {
    const before = this.#flags;
    const items = [this.#sequence()];
    while (this.#take('|')) items.push(this.#sequence());
    this.#flags = before;
    const [first] = items;
    return items.length === 1 && first !== undefined ? first : { node: 'choice', items };
  }

  #sequence(): RegexNode {
    const items: RegexNode[] = [];
    for (;;) {
      if (this.#flags.comments) this.#skipComments();
      const character = this.#peek();
      if (character === '' || character === '|' || character === ')') break;
      const atom = this.#atom();
      if (atom !== undefined) items.push(this.#repeated(atom));
    }
    const [first] = items;
    if (first === undefined) return { node: 'empty' };
    return items.length === 1 ? first : { node: 'sequence', items };
  }

  #skipComments(): void {
    for (;;) {
      if (/\s/.test(this.#peek())) this.#at += 1;
      else if (this.#peek() === '#') {
        while (this.#peek() !== '' && this.#peek() !== '\n') this.#at += 1;
      } else return;
    }
  }

  #repeated(atom: RegexNode): RegexNode {
    let item = atom;
    for (;;) {
      if (this.#flags.comments) this.#skipComments();
      const bounds = this.#bounds();
      if (bounds === undefined) return item;
      const mode = this.#take('?') ? 'lazy' : this.#take('+') ? 'possessive' : 'greedy';
      item = { node: 'repeat', item, least: bounds[0], most: bounds[1], mode };
    }
  }

  #bounds(): readonly [number, number] | undefined {
    if (this.#take('*')) return [0, Infinity];
    if (this.#take('+')) return [1, Infinity];
    if (this.#take('?')) return [0, 1];
    if (this.#peek() !== '{') return undefined;
    this.#at += 1;
    const least = this.#number();
    let most = least;
    if (this.#take(',')) most = this.#peek() === '}' ? Infinity : this.#number();
    if (!this.#take('}')) throw new RegexSyntaxError('a { has no }');
    if (most < least) throw new RegexSyntaxError('a repetition has its greater bound first');
    if (least > repeatMax || (most !== Infinity && most > repeatMax)) {
      throw new RegexSyntaxError(`a repetition goes up to ${repeatMax}`);
    }
    return [least, most];
  }

  #number(): number {
    let digits = '';
    while (/^[0-9]$/.test(this.#peek())) digits += this.#next();
    if (digits === '') throw new RegexSyntaxError('a repetition needs a number');
    return Number(digits);
  }

  /** undefined: flags, which are no part of the match. */
  #atom(): RegexNode | undefined {
    const character = this.#next();
    switch (character) {
      case '(':
        return this.#group();
      case '[':
        return this.#one(this.#class());
      case '.':
        return { node: 'one', test: this.#flags.dotAll ? () => true : negated(isLineEnd) };
      case '^':
        return { node: 'assert', kind: this.#flags.multiline ? 'line_start' : 'start' };
      case '$':
        return { node: 'assert', kind: this.#flags.multiline ? 'line_end' : 'end_or_last_line' };
      case '\\':
        return this.#escape();
      case '*':
      case '+':
      case '?':
        throw new RegexSyntaxError(`there is nothing for ${character} to repeat`);
      case '{':
        throw new RegexSyntaxError('there is nothing for { to repeat');
      default:
        return this.#literal(character.codePointAt(0) ?? 0);
    }
  }

  #one(test: CodePointTest): RegexNode {
    const { ignoreCase, unicode } = this.#flags;
    return { node: 'one', test: ignoreCase ? foldedTest(test, unicode) : test };
  }

  #literal(point: number): RegexNode {
    return this.#one((c) => c === point);
  }

  #group(): RegexNode | undefined {
    this.#depth += 1;
    if (this.#depth > depthMax) throw new RegexSyntaxError('groups are nested too deep');
    const before = this.#flags;
    const item = this.#take('?') ? this.#special() : this.#capture(undefined);
    this.#depth -= 1;
    if (item !== undefined) this.#flags = before;
    return item;
  }

  #capture(name: string | undefined): RegexNode {
    this.#groups += 1;
    const index = this.#groups;
    if (name !== undefined) {
      if (this.#names.has(name)) throw new RegexSyntaxError(`the group ${name} stands twice`);
      this.#names.set(name, index);
    }
    return { node: 'group', item: this.#closed(), index };
  }

  #closed(): RegexNode {
    const item = this.#choice();
    if (!this.#take(')')) throw new RegexSyntaxError('a ( has no )');
    return item;
  }

  #special(): RegexNode | undefined {
    if (this.#take(':')) return this.#closed();
    if (this.#take('>')) return { node: 'atomic', item: this.#closed() };
    if (this.#take('=')) return this.#look(false, false);
    if (this.#take('!')) return this.#look(false, true);
    if (this.#take('<=')) return this.#look(true, false);
    if (this.#take('<!')) return this.#look(true, true);
    if (this.#take('<')) return this.#capture(this.#name('>'));
    return this.#inlineFlags();
  }

  #look(behind: boolean, isNegated: boolean): RegexNode {
    return { node: 'look', item: this.#closed(), behind, negated: isNegated };
  }

  #name(end: string): string {
    let name = '';
    while (this.#peek() !== end) name += this.#next();
    this.#at += 1;
    if (!/^[a-zA-Z][a-zA-Z0-9]*$/.test(name)) {
      throw new RegexSyntaxError('the name of a group has letters and digits');
    }
    return name;
  }

  /** `(?i)` holds until the end of the group around it, `(?i:…)` inside. */
  #inlineFlags(): RegexNode | undefined {
    let isOn = true;
    let flags = this.#flags;
    for (;;) {
      const character = this.#next();
      if (character === '-') {
        isOn = false;
      } else if (character === ':') {
        this.#flags = flags;
        return this.#closed();
      } else if (character === ')') {
        this.#flags = flags;
        return undefined;
      } else if (Object.hasOwn(flagNames, character)) {
        const name = flagNames[character];
        if (name !== undefined) flags = { ...flags, [name]: isOn };
      } else {
        throw new RegexSyntaxError(`there is no group (?${character}`);
      }
    }
  }

  #escape(): RegexNode {
    const character = this.#next();
    switch (character) {
      case 'A':
        return { node: 'assert', kind: 'start' };
      case 'z':
        return { node: 'assert', kind: 'end' };
      case 'Z':
        return { node: 'assert', kind: 'end_or_last_line' };
      case 'b':
        return { node: 'assert', kind: 'word_boundary' };
      case 'B':
        return { node: 'assert', kind: 'not_word_boundary' };
      case 'G':
        this.#isContextual = true;
        return { node: 'assert', kind: 'search_start' };
      case 'Q':
        return this.#quotedRun();
      case 'R':
        return this.#lineBreak();
      case 'X':
        return graphemeCluster;
      case 'k':
        return this.#namedReference();
      default:
        break;
    }
    if (/^[1-9]$/.test(character)) return this.#reference(character);
    const test = this.#escapedClass(character);
    if (test !== undefined) return this.#one(test);
    return this.#literal(this.#escapedPoint(character));
  }

  #quotedRun(): RegexNode {
    const items: RegexNode[] = [];
    while (this.#peek() !== '' && !this.#take('\\E')) {
      items.push(this.#literal(this.#next().codePointAt(0) ?? 0));
    }
    return { node: 'sequence', items };
  }

  #lineBreak(): RegexNode {
    const pair: RegexNode = {
      node: 'sequence',
      items: [
        { node: 'one', test: (c) => c === 0x0d },
        { node: 'one', test: (c) => c === 0x0a },
      ],
    };
    const single: CodePointTest = (c) => isLineEnd(c) || c === 0x0b || c === 0x0c;
    return { node: 'choice', items: [pair, { node: 'one', test: single }] };
  }

  #namedReference(): RegexNode {
    if (!this.#take('<')) throw new RegexSyntaxError('\\k needs the name of a group');
    const name = this.#name('>');
    const index = this.#names.get(name);
    if (index === undefined) throw new RegexSyntaxError(`there is no group ${name}`);
    return this.#back(index);
  }

  /** As many digits as there are groups for; what names a group that is not there yet never matches. */
  #reference(first: string): RegexNode {
    let index = Number(first);
    while (/^[0-9]$/.test(this.#peek()) && index * 10 + Number(this.#peek()) <= this.#groups) {
      index = index * 10 + Number(this.#next());
    }
    return this.#back(index);
  }

  #back(index: number): RegexNode {
    this.#isContextual = true;
    return { node: 'back', index, ignoreCase: this.#flags.ignoreCase };
  }

  #escapedClass(letter: string): CodePointTest | undefined {
    if (letter === 'p' || letter === 'P') {
      const name = this.#take('{') ? this.#until('}') : this.#next();
      const test = classOfProperty(name);
      return letter === 'P' ? negated(test) : test;
    }
    return classOfEscape(letter);
  }

  #until(end: string): string {
    let text = '';
    while (this.#peek() !== end) text += this.#next();
    this.#at += 1;
    return text;
  }

  #escapedPoint(letter: string): number {
    switch (letter) {
      case 't':
        return 0x09;
      case 'n':
        return 0x0a;
      case 'r':
        return 0x0d;
      case 'f':
        return 0x0c;
      case 'a':
        return 0x07;
      case 'e':
        return 0x1b;
      case '0':
        return this.#digits(/^[0-7]$/, 3, 8);
      case 'x':
        return this.#take('{')
          ? this.#point(Number.parseInt(this.#until('}'), 16))
          : this.#fixedHex(2);
      case 'u':
        return this.#fixedHex(4);
      case 'c':
        return (this.#next().codePointAt(0) ?? 0) ^ 0x40;
      default:
        if (/^[A-Za-z]$/.test(letter)) throw new RegexSyntaxError(`there is no escape \\${letter}`);
        return letter.codePointAt(0) ?? 0;
    }
  }

  #digits(pattern: RegExp, most: number, base: number): number {
    let digits = '';
    while (digits.length < most && pattern.test(this.#peek())) digits += this.#next();
    if (digits === '') throw new RegexSyntaxError('an escape lacks its digits');
    return Number.parseInt(digits, base);
  }

  #fixedHex(count: number): number {
    let digits = '';
    for (let i = 0; i < count; i += 1) digits += this.#next();
    if (!/^[0-9a-fA-F]+$/.test(digits)) throw new RegexSyntaxError('an escape lacks its digits');
    return Number.parseInt(digits, 16);
  }

  #point(value: number): number {
    if (value >= 0 && value <= 0x10ffff) return value;
    throw new RegexSyntaxError('an escape is no code point');
  }

  // ------------------------------------------------------------ classes

  /** Behind `[`: parts are united, `&&` intersects what stands on both sides. */
  #class(): CodePointTest {
    this.#depth += 1;
    if (this.#depth > depthMax) throw new RegexSyntaxError('classes are nested too deep');
    const isNegated = this.#take('^');
    let whole: CodePointTest | undefined;
    let parts: CodePointTest[] = [];
    let isFirst = true;
    for (;;) {
      if (this.#flags.comments) this.#skipComments();
      const character = this.#next();
      if (character === ']' && !isFirst) break;
      isFirst = false;
      if (character === '&' && this.#take('&')) {
        if (parts.length > 0) whole = intersection(whole, parts);
        parts = [];
        isFirst = this.#peek() !== ']';
      } else {
        parts.push(this.#classPart(character));
      }
    }
    this.#depth -= 1;
    const test = parts.length === 0 && whole !== undefined ? whole : intersection(whole, parts);
    return isNegated ? negated(test) : test;
  }

  #classPart(character: string): CodePointTest {
    if (character === '[') return this.#class();
    let low: number;
    if (character === '\\') {
      const letter = this.#next();
      if (letter === 'Q') return this.#quotedClass();
      const test = this.#escapedClass(letter);
      if (test !== undefined) return test;
      low = this.#escapedPoint(letter);
    } else {
      low = character.codePointAt(0) ?? 0;
    }
    const isRange = this.#peek() === '-' && this.#peek(1) !== ']' && this.#peek(1) !== '[';
    if (!isRange) return (c) => c === low;
    this.#at += 1;
    const end = this.#next();
    const high = end === '\\' ? this.#escapedPoint(this.#next()) : (end.codePointAt(0) ?? 0);
    if (high < low) throw new RegexSyntaxError('a range has its greater end first');
    return (c) => c >= low && c <= high;
  }

  #quotedClass(): CodePointTest {
    const points = new Set<number>();
    while (this.#peek() !== '' && !this.#take('\\E')) points.add(this.#next().codePointAt(0) ?? 0);
    return (c) => points.has(c);
  }
}

function intersection(
  whole: CodePointTest | undefined,
  parts: readonly CodePointTest[],
): CodePointTest {
  const any: CodePointTest = (c) => parts.some((part) => part(c));
  return whole === undefined ? any : (c) => whole(c) && any(c);
}
