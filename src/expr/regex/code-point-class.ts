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
  const block = /^In(.+)$|^(?:blk|block)=(.+)$/i.exec(name);
  if (block !== null) return ofBlock(block[1] ?? block[2] ?? '', name);
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

/** Blocks of Unicode by their names without blanks, hyphens and underscores. */
const blocks: Readonly<Record<string, readonly [number, number]>> = {
  basiclatin: [0x00, 0x7f],
  latin1supplement: [0x80, 0xff],
  latinextendeda: [0x100, 0x17f],
  latinextendedb: [0x180, 0x24f],
  ipaextensions: [0x250, 0x2af],
  combiningdiacriticalmarks: [0x300, 0x36f],
  greek: [0x370, 0x3ff],
  greekandcoptic: [0x370, 0x3ff],
  cyrillic: [0x400, 0x4ff],
  armenian: [0x530, 0x58f],
  hebrew: [0x590, 0x5ff],
  arabic: [0x600, 0x6ff],
  devanagari: [0x900, 0x97f],
  bengali: [0x980, 0x9ff],
  tamil: [0xb80, 0xbff],
  thai: [0xe00, 0xe7f],
  tibetan: [0xf00, 0xfff],
  georgian: [0x10a0, 0x10ff],
  hanguljamo: [0x1100, 0x11ff],
  latinextendedadditional: [0x1e00, 0x1eff],
  greekextended: [0x1f00, 0x1fff],
  generalpunctuation: [0x2000, 0x206f],
  superscriptsandsubscripts: [0x2070, 0x209f],
  currencysymbols: [0x20a0, 0x20cf],
  letterlikesymbols: [0x2100, 0x214f],
  numberforms: [0x2150, 0x218f],
  arrows: [0x2190, 0x21ff],
  mathematicaloperators: [0x2200, 0x22ff],
  boxdrawing: [0x2500, 0x257f],
  dingbats: [0x2700, 0x27bf],
  cjksymbolsandpunctuation: [0x3000, 0x303f],
  hiragana: [0x3040, 0x309f],
  katakana: [0x30a0, 0x30ff],
  cjkunifiedideographs: [0x4e00, 0x9fff],
  hangulsyllables: [0xac00, 0xd7af],
  privateusearea: [0xe000, 0xf8ff],
  halfwidthandfullwidthforms: [0xff00, 0xffef],
  emoticons: [0x1f600, 0x1f64f],
};

function ofBlock(written: string, name: string): CodePointTest {
  const key = written.toLowerCase().replace(/[\s_-]/g, '');
  const bounds = Object.hasOwn(blocks, key) ? blocks[key] : undefined;
  if (bounds === undefined) throw new RegexSyntaxError(`there is no class \\p{${name}}`);
  const [low, high] = bounds;
  return (c) => c >= low && c <= high;
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
