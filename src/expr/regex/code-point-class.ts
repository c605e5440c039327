import { type CodePointTest, RegexSyntaxError } from './regex-tree.ts';

/** Classes of code points by the names that Java's patterns have for them. */
export function isLineEnd(c: number): boolean {
  return c === 0x0a || c === 0x0d || c === 0x85 || c === 0x2028 || c === 0x2029;
}

export function isDigit(c: number): boolean {
  return c >= 0x30 && c <= 0x39;
}

export function isWord(c: number): boolean {
  return isDigit(c) || (c >= 0x41 && c <= 0x5a) || (c >= 0x61 && c <= 0x7a) || c === 0x5f;
}

function isSpace(c: number): boolean {
  return c === 0x20 || (c >= 0x09 && c <= 0x0d);
}

function isHorizontal(c: number): boolean {
  return (
    c === 0x20 ||
    c === 0x09 ||
    c === 0xa0 ||
    c === 0x1680 ||
    c === 0x180e ||
    (c >= 0x2000 && c <= 0x200a) ||
    c === 0x202f ||
    c === 0x205f ||
    c === 0x3000
  );
}

function isVertical(c: number): boolean {
  return (c >= 0x0a && c <= 0x0d) || c === 0x85 || c === 0x2028 || c === 0x2029;
}

export function negated(test: CodePointTest): CodePointTest {
  return (c) => !test(c);
}

const escapes: Readonly<Record<string, CodePointTest>> = {
  d: isDigit,
  w: isWord,
  s: isSpace,
  h: isHorizontal,
  v: isVertical,
};

/** The class of `\d`, `\W` and the like; undefined for any other letter. */
export function classOfEscape(letter: string): CodePointTest | undefined {
  const test = Object.hasOwn(escapes, letter) ? escapes[letter] : undefined;
  if (test !== undefined) return test;
  const lower = letter.toLowerCase();
  const inverse = letter !== lower && Object.hasOwn(escapes, lower) ? escapes[lower] : undefined;
  return inverse === undefined ? undefined : negated(inverse);
}

/** In words Java counts letters and digits of all scripts for `\b`. */
const wordPattern = /[\p{L}\p{Nd}_]/u;

export function isWordOfAnyScript(c: number): boolean {
  if (c < 0x80) return isWord(c);
  return wordPattern.test(String.fromCodePoint(c));
}

function range(from: string, to: string): CodePointTest {
  const [low, high] = [from.charCodeAt(0), to.charCodeAt(0)];
  return (c) => c >= low && c <= high;
}

const isLower = range('a', 'z');
const isUpper = range('A', 'Z');
const isGraph = range('!', '~');

const posix: Readonly<Record<string, CodePointTest>> = {
  Lower: isLower,
  Upper: isUpper,
  ASCII: (c) => c < 0x80,
  Alpha: (c) => isLower(c) || isUpper(c),
  Digit: isDigit,
  Alnum: (c) => isDigit(c) || isLower(c) || isUpper(c),
  Punct: (c) => isGraph(c) && !isDigit(c) && !isLower(c) && !isUpper(c),
  Graph: isGraph,
  Print: (c) => c >= 0x20 && c <= 0x7e,
  Blank: (c) => c === 0x20 || c === 0x09,
  Cntrl: (c) => c < 0x20 || c === 0x7f,
  XDigit: (c) => isDigit(c) || (c >= 0x41 && c <= 0x46) || (c >= 0x61 && c <= 0x66),
  Space: isSpace,
  javaLowerCase: ofProperty('Lowercase'),
  javaUpperCase: ofProperty('Uppercase'),
  javaWhitespace: (c) => isSpace(c) || (c >= 0x1c && c <= 0x1f) || c === 0x2028 || c === 0x2029,
  javaMirrored: ofProperty('Bidi_Mirrored'),
};

const binaryProperties: Readonly<Record<string, string>> = {
  alphabetic: 'Alphabetic',
  ideographic: 'Ideographic',
  letter: 'L',
  lowercase: 'Lowercase',
  uppercase: 'Uppercase',
  titlecase: 'Lt',
  punctuation: 'P',
  control: 'Cc',
  white_space: 'White_Space',
  digit: 'Nd',
  hex_digit: 'Hex_Digit',
  emoji: 'Emoji',
};

/** The class of `\p{name}`. */
export function classOfProperty(name: string): CodePointTest {
  const known = Object.hasOwn(posix, name) ? posix[name] : undefined;
  if (known !== undefined) return known;
  const assignment = /^(?:(sc|script|gc|general_category|IsScript)=)?(.+)$/i.exec(name);
  const [, key = '', value = name] = assignment ?? [];
  const isScript = key.toLowerCase().startsWith('sc');
  const bare = value.startsWith('Is') && key === '' ? value.slice(2) : value;
  const binary = binaryProperties[bare.toLowerCase()];
  const candidates = isScript
    ? [`Script=${bare}`]
    : [binary ?? bare, `Script=${capitalized(bare)}`];
  for (const candidate of candidates) {
    const test = tryProperty(candidate);
    if (test !== undefined) return test;
  }
  throw new RegexSyntaxError(`there is no class \\p{${name}}`);
}

function capitalized(name: string): string {
  return name.charAt(0).toUpperCase() + name.slice(1).toLowerCase();
}

function tryProperty(property: string): CodePointTest | undefined {
  if (!/^[A-Za-z_]+(?:=[A-Za-z_]+)?$/.test(property)) return undefined;
  try {
    return ofProperty(property);
  } catch {
    return undefined;
  }
}

function ofProperty(property: string): CodePointTest {
  const pattern = new RegExp(`\\p{${property}}`, 'u');
  return (c) => pattern.test(String.fromCodePoint(c));
}

/** A test that also takes the other case of what it takes. */
export function foldedTest(test: CodePointTest, unicode: boolean): CodePointTest {
  return (c) => test(c) || otherCases(c, unicode).some(test);
}

function otherCases(c: number, unicode: boolean): readonly number[] {
  if (c < 0x80) {
    if (isLower(c)) return [c - 32];
    return isUpper(c) ? [c + 32] : [];
  }
  if (!unicode) return [];
  const text = String.fromCodePoint(c);
  return [text.toLowerCase(), text.toUpperCase()].flatMap((other) => {
    const point = other.codePointAt(0) ?? 0;
    return other.length === String.fromCodePoint(point).length ? [point] : [];
  });
}

export function sameFolded(a: number, b: number): boolean {
  return a === b || otherCases(a, true).includes(b);
}
