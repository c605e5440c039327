import { viewOf } from './byte-copy.ts';
import {
  type JsonKind,
  kindArray,
  kindAscii,
  kindFalse,
  kindInteger,
  kindMissing,
  kindNull,
  kindNumber,
  kindObject,
  kindText,
  kindTrue,
  literalEnd,
  nestedEnd,
  numberEnd,
  spaceEnd,
  stringEnd,
  valueEnd,
} from './json-lex.ts';
import { JsonObjectScanner, type ScanVerdict, scanOk } from './json-scan.ts';
import {
  isInRange,
  isPlainInt64,
  notPlain,
  type Plainness,
  type PlainTest,
  plain,
  plainMillis,
  plainTest,
} from './plain-json.ts';
import type { DataType } from './types.ts';

/** Members of a record that are remembered, and the longest name with quotes, colon and a space. */
const slotsMax = 128;
/** Slots that there is room for at first. */
const slotsMin = 16;
const slotBytes = 64;
const slotWords = slotBytes / 4;
/** The last word of a name is compared on its own, wherever it begins: so much it has at least. */
const nameBytesMin = 4;

/** How far behind the expected member one is looked for when some were left out. */
const lookAhead = 4;

/** So many records that were not as expected, before what is expected is learned anew. */
const missesMax = 32;

/**
 * Finds the wanted top-level members of JSON records, as `JsonObjectScanner` does, and tells of each whether its bytes
 * may be taken over as they lie. Records of one producer have the same names in the same order with the same white space, and
 * values of the same form: this expects just that, compares names as words of four bytes, and goes over each value once, for
 * its end and its plainness together. Whatever is not as expected goes the general way, the record from its start. It is
 * dense since it is most of what a record costs.
 *
 * Invariant: `kinds` and `spans` are those of a `JsonObjectScanner` of the same names, and `plainness` is what `plainTest`
 * says of each span; a test runs both on the same records.
 */
export class StraightScanner {
  /** By wanted member; `kindMissing` (0) when the record lacks it. */
  readonly kinds: Uint8Array;
  /** `[2i, 2i + 1)` is the value of member i, for strings without the quotes; only where it is not missing. */
  readonly spans: Int32Array;
  /** By wanted member with a type, a `Plainness`. */
  readonly plainness: Uint8Array;
  /** By wanted member with a type, 1: the value follows on `"name":` without any space. */
  readonly isNamed: Uint8Array;
  /** What the record that was scanned last lies in. */
  bytes: Buffer = nothing;
  view: DataView = noView;
  /**
   * The number of the layout that the record has to the full: all its members and no others, all of those with a type
   * plain. 0: it has none. Layouts that have the same number are the same.
   */
  wholeLayout = 0;
  readonly #names: readonly string[];
  readonly #nameTexts: readonly Buffer[];
  readonly #scanner: JsonObjectScanner;
  readonly #tests: readonly (PlainTest | undefined)[];
  /** What is looked for in the value of a wanted member, and for decimals how many digits. */
  readonly #forms: Uint8Array;
  readonly #wholeDigitsMax: Int32Array;
  readonly #scales: Int32Array;
  /** The names that are expected: `"name":` in words, the last four bytes, and the size. */
  #words = new Int32Array(slotsMin * slotWords);
  #lastWords = new Int32Array(slotsMin);
  #sizes = new Int32Array(slotsMin);
  /** Which wanted member a slot's name is; -1: none. */
  #wanted = new Int32Array(slotsMin);
  /** 1: nothing stands between colon and value. */
  #compact = new Uint8Array(slotsMin);
  #count = 0;
  /** 1: a space follows each comma. */
  #gap = 0;
  #misses = missesMax;
  #layout = 0;
  /** Of the value that was walked over last. */
  #kind: JsonKind = kindMissing;
  #isPlain: Plainness = notPlain;

  /** Names are matched with their case. Of a member with a type its plainness is told. */
  constructor(names: readonly string[], types: readonly (DataType | undefined)[]) {
    this.#scanner = new JsonObjectScanner(names);
    this.kinds = this.#scanner.kinds;
    this.spans = this.#scanner.spans;
    this.plainness = new Uint8Array(names.length);
    this.isNamed = new Uint8Array(names.length);
    this.#nameTexts = names.map((name) => Buffer.from(`"${name}":`, 'utf8'));
    this.#names = names;
    this.#tests = types.map((type) => (type === undefined ? undefined : plainTest(type)));
    this.#forms = Uint8Array.from(types, (type) => formOf(type));
    this.#wholeDigitsMax = Int32Array.from(types, (type) =>
      type?.kind === 'decimal' ? type.precision - type.scale : 0,
    );
    this.#scales = Int32Array.from(types, (type) => (type?.kind === 'decimal' ? type.scale : 0));
  }

  scan(bytes: Buffer, start: number, end: number): ScanVerdict {
    if (bytes !== this.bytes) {
      this.bytes = bytes;
      this.view = viewOf(bytes);
    }
    if (this.#count > 0 && this.#isStraight(bytes, start, end)) return scanOk;
    this.wholeLayout = 0;
    const verdict = this.#scanner.scan(bytes, start, end);
    if (verdict !== scanOk) return verdict;
    for (let index = 0; index < this.#names.length; index += 1) this.#look(bytes, index);
    this.#misses += 1;
    if (this.#misses > missesMax) this.#learn(bytes, start, end);
    return verdict;
  }

  /** What the general way does not tell of a member. */
  #look(bytes: Buffer, index: number): void {
    const kind = this.kinds[index] as number;
    const test = this.#tests[index];
    this.plainness[index] = notPlain;
    if (test === undefined || kind === kindMissing) return;
    const from = this.spans[index * 2] as number;
    this.plainness[index] = test(bytes, from, this.spans[index * 2 + 1] as number, kind);
    const first = kind === kindAscii || kind === kindText ? from - 1 : from;
    this.isNamed[index] = endsWith(bytes, first, this.#nameTexts[index] as Buffer) ? 1 : 0;
  }

  /** False: the record is something else than was expected, which may be anything. */
  #isStraight(bytes: Buffer, start: number, end: number): boolean {
    const { kinds, spans, plainness, isNamed } = this;
    const gap = this.#gap;
    for (let index = 0; index < this.#names.length; index += 1) {
      kinds[index] = kindMissing;
      plainness[index] = notPlain;
    }
    if (bytes[start] !== openBrace) return false;
    let at = start + 1;
    let expected = 0;
    let isWhole = true;
    for (;;) {
      const slot = this.#isAt(at, end, expected) ? expected : this.#slotAfter(at, end, expected);
      if (slot < 0) return false;
      if (slot !== expected) isWhole = false;
      expected = slot + 1;
      at += this.#sizes[slot] as number;
      const wanted = this.#wanted[slot] as number;
      const form = wanted < 0 ? formOther : (this.#forms[wanted] as number);
      const byte = bytes[at] as number;
      let from = at;
      let to: number;
      this.#isPlain = notPlain;
      if (byte === quote) {
        from = at + 1;
        to = form === formInstant ? this.#instantEnd(bytes, from, end) : -1;
        if (to < 0) {
          to = this.#stringEnd(bytes, from, end);
          if (form !== formString) this.#isPlain = notPlain;
        }
        at = to + 1;
      } else if ((byte >= digit0 && byte <= digit9) || byte === minus) {
        to = this.#numberEnd(bytes, at, end, form, wanted);
        at = to;
      } else {
        to = this.#otherEnd(bytes, at, end);
        at = to;
      }
      if (to < 0) return false;
      if (wanted >= 0) {
        kinds[wanted] = this.#kind;
        spans[wanted * 2] = from;
        spans[wanted * 2 + 1] = to;
        isNamed[wanted] = this.#compact[slot] as number;
        if (form === formOther) this.#judge(wanted, from, to);
        plainness[wanted] = this.#isPlain;
        if (this.#isPlain === notPlain && this.#tests[wanted] !== undefined) isWhole = false;
      }
      const next = bytes[at];
      // What follows may lie beyond the record's end, but positions only grow.
      if (next === closeBrace) {
        this.wholeLayout = isWhole && expected === this.#count ? this.#layout : 0;
        return at + 1 === end;
      }
      if (next !== comma || at >= end) return false;
      at += 1;
      if (gap === 1) {
        if (bytes[at] !== space) return false;
        at += 1;
      }
    }
  }

  /** The slot of the name at `at`, one of the few after `slot`; -1: none of them. */
  #slotAfter(at: number, end: number, slot: number): number {
    const last = Math.min(slot + lookAhead, this.#count);
    for (let index = slot + 1; index < last; index += 1) {
      if (this.#isAt(at, end, index)) return index;
    }
    return -1;
  }

  /** The position of a wanted member in the layout; -1: it has none. */
  slotOf(wanted: number): number {
    return this.#wanted.subarray(0, this.#count).indexOf(wanted);
  }

  /** Whether a member of the layout begins right behind the comma of the one before, and its value right behind its colon. */
  isTight(slot: number): boolean {
    return this.#gap === 0 && this.#compact[slot] === 1;
  }

  #isAt(at: number, end: number, slot: number): boolean {
    if (slot >= this.#count) return false;
    const size = this.#sizes[slot] as number;
    const last = at + size - 4;
    if (last + 4 > end) return false;
    const view = this.view;
    const words = this.#words;
    let word = slot * slotWords;
    for (let from = at; from < last; from += 4, word += 1) {
      if (view.getInt32(from, true) !== words[word]) return false;
    }
    return view.getInt32(last, true) === this.#lastWords[slot];
  }

  /**
   * From behind the opening quote to the closing one. What is valid at the end of the record but needs a closer look, as
   * bytes beyond ASCII do, is left to the general lexer.
   */
  #stringEnd(bytes: Buffer, start: number, end: number): number {
    const view = this.view;
    let at = start;
    let kind: JsonKind = kindAscii;
    for (;;) {
      // Four bytes at a time as long as none of them is a quote, a backslash, a control or beyond ASCII: bit 7 of a byte
      // comes up where it was set, or where something was taken away from less.
      while (at + 4 <= end) {
        const word = view.getInt32(at, true);
        const quotes = word ^ 0x22222222;
        const slashes = word ^ 0x5c5c5c5c;
        const found =
          (word | (word - 0x20202020) | (quotes - 0x01010101) | (slashes - 0x01010101)) & highBits;
        if (found !== 0) {
          at += (31 - Math.clz32(found & -found)) >> 3;
          break;
        }
        at += 4;
      }
      const byte = bytes[at] as number;
      if (at >= end) return -1;
      if (byte === quote) {
        this.#kind = kind;
        this.#isPlain = plain;
        return at;
      }
      if (byte === backslash) {
        kind = kindText;
        if (!isKeptEscape(bytes[at + 1] as number)) return this.#textEnd(bytes, start, end);
        at += 2;
      } else if (byte < space || byte > 0x7f) {
        return this.#textEnd(bytes, start, end);
      } else {
        at += 1;
      }
    }
  }

  /** As `#stringEnd`, of any string. */
  #textEnd(bytes: Buffer, start: number, end: number): number {
    const text = stringEnd(bytes, start, end);
    if (text < 0) return -1;
    this.#kind = kindText;
    this.#isPlain = notPlain;
    return (text >> 1) - 1;
  }

  /** The closing quote of an instant with three or six digits behind the second; -1: it is something else. */
  #instantEnd(bytes: Buffer, start: number, end: number): number {
    if (start + instantStartBytes > end || !this.#isInstantStart(start)) return -1;
    let at = start + instantStartBytes;
    while (isDigit(bytes[at] as number)) at += 1;
    const digits = at - start - instantStartBytes;
    if ((digits !== 3 && digits !== 6) || bytes[at] !== letterZ || bytes[at + 1] !== quote)
      return -1;
    this.#kind = kindAscii;
    if (!isInRange(bytes, start)) this.#isPlain = notPlain;
    else this.#isPlain = digits === 6 ? plain : plainMillis;
    return at + 1;
  }

  /** Whether all up to the point is as in `0000-00-00T00:00:00.`. */
  #isInstantStart(start: number): boolean {
    const view = this.view;
    for (let index = 0; index < instantStartWords; index += 1) {
      // 0 where a character that is fixed is right, and the digit where there is one.
      const left = view.getInt32(start + index * 4, true) ^ (instantWords[index] as number);
      if ((left & (fixedBytes[index] as number)) !== 0) return false;
      if (((left | (left + 0x06060606)) & highNibbles) !== 0) return false;
    }
    return true;
  }

  #numberEnd(bytes: Buffer, start: number, end: number, form: number, wanted: number): number {
    const first = bytes[start] === minus ? start + 1 : start;
    const isZero = bytes[first] === digit0;
    const wholeEnd = this.#digitsEnd(bytes, first, end);
    const wholeDigits = wholeEnd - first;
    if (wholeDigits === 0 || (isZero && wholeDigits > 1)) return -1;
    const next = bytes[wholeEnd] as number;
    // Zero with a sign loses it.
    const isSignedZero = isZero && first > start;
    if (next !== dot && (next | 0x20) !== letterE) {
      this.#kind = kindInteger;
      if (form === formBigint) {
        // The largest has nineteen digits, the first of which is a 9.
        const fits = wholeDigits < 19 || (wholeDigits === 19 && (bytes[first] as number) < digit9);
        const isPlain = !isSignedZero && (fits || isPlainInt64(bytes, start, wholeEnd));
        this.#isPlain = isPlain ? plain : notPlain;
      } else if (form === formDecimal) {
        const isPlain =
          !isSignedZero &&
          this.#scales[wanted] === 0 &&
          wholeDigits <= (this.#wholeDigitsMax[wanted] as number);
        this.#isPlain = isPlain ? plain : notPlain;
      }
      return wholeEnd;
    }
    if (next !== dot) return this.#anyNumberEnd(bytes, start);
    const fractionEnd = this.#digitsEnd(bytes, wholeEnd + 1, end);
    const scale = fractionEnd - wholeEnd - 1;
    if (scale === 0) return -1;
    if (((bytes[fractionEnd] as number) | 0x20) === letterE)
      return this.#anyNumberEnd(bytes, start);
    this.#kind = kindNumber;
    if (form === formDecimal) {
      // `0.50` has one digit before the point even where the type leaves room for none.
      const fits = wholeDigits <= (this.#wholeDigitsMax[wanted] as number) || isZero;
      this.#isPlain = fits && !isSignedZero && scale === this.#scales[wanted] ? plain : notPlain;
    }
    return fractionEnd;
  }

  #anyNumberEnd(bytes: Buffer, start: number): number {
    const number = numberEnd(bytes, start);
    this.#kind = kindNumber;
    return number < 0 ? -1 : number >> 1;
  }

  #digitsEnd(bytes: Buffer, start: number, end: number): number {
    const view = this.view;
    let at = start;
    while (at + 4 <= end) {
      const left = view.getInt32(at, true) ^ 0x30303030;
      const others = (left | (left + 0x06060606)) & highNibbles;
      if (others !== 0) return at + ((31 - Math.clz32(others & -others)) >> 3);
      at += 4;
    }
    while (isDigit(bytes[at] as number)) at += 1;
    return at;
  }

  /** Of a literal, an object or an array. */
  #otherEnd(bytes: Buffer, start: number, end: number): number {
    const byte = bytes[start];
    if (byte === openBrace || byte === openBracket) {
      this.#kind = byte === openBrace ? kindObject : kindArray;
      return nestedEnd(bytes, start, end, 1);
    }
    this.#kind = byte === letterN ? kindNull : byte === letterT ? kindTrue : kindFalse;
    return literalEnd(bytes, start);
  }

  /** Of a value whose type has no form here. */
  #judge(wanted: number, from: number, to: number): void {
    const test = this.#tests[wanted];
    this.#isPlain = test === undefined ? notPlain : test(this.bytes, from, to, this.#kind);
  }

  /** From now on records are expected to be as this one, which is valid. */
  #learn(bytes: Buffer, start: number, end: number): void {
    this.#misses = 0;
    this.#count = 0;
    this.#layout += 1;
    const seen = new Set<string>();
    let at = start;
    while (bytes[at] !== closeBrace) {
      // At the opening brace, or at a comma.
      at += at === start ? 1 : 1 + this.#gap;
      if (bytes[at] !== quote) break;
      const name = stringEnd(bytes, at + 1, end);
      const nameEnd = name >> 1;
      if (bytes[nameEnd] !== colon) break;
      const valueStart = spaceEnd(bytes, nameEnd + 1);
      const text = bytes.toString('utf8', at + 1, nameEnd - 1);
      const size = valueStart - at;
      // A name that comes twice, or one with escapes, is for the general way.
      const isFit = size >= nameBytesMin && size <= slotBytes && this.#count < slotsMax;
      if (!isFit || seen.has(text) || text.includes('\\')) break;
      seen.add(text);
      this.#addSlot(bytes, at, valueStart, this.#names.indexOf(text));
      at = spaceEnd(bytes, valueEnd(bytes, valueStart, end, 1));
      if (this.#count === 1) this.#gap = bytes[at + 1] === space ? 1 : 0;
    }
    if (bytes[at] !== closeBrace) this.#count = 0;
  }

  #addSlot(bytes: Buffer, start: number, end: number, wanted: number): void {
    const slot = this.#count;
    if (slot === this.#sizes.length) this.#growSlots();
    this.#count += 1;
    const size = end - start;
    this.#sizes[slot] = size;
    this.#wanted[slot] = wanted;
    this.#compact[slot] = bytes[end - 1] === colon ? 1 : 0;
    for (let word = 0; word * 4 + 4 < size; word += 1) {
      this.#words[slot * slotWords + word] = bytes.readInt32LE(start + word * 4);
    }
    this.#lastWords[slot] = bytes.readInt32LE(end - 4);
  }

  #growSlots(): void {
    const slots = 2 * this.#sizes.length;
    this.#words = grownInt32(this.#words, slots * slotWords);
    this.#lastWords = grownInt32(this.#lastWords, slots);
    this.#sizes = grownInt32(this.#sizes, slots);
    this.#wanted = grownInt32(this.#wanted, slots);
    const compact = new Uint8Array(slots);
    compact.set(this.#compact);
    this.#compact = compact;
  }
}

function grownInt32(before: Int32Array, length: number): Int32Array<ArrayBuffer> {
  const grown = new Int32Array(length);
  grown.set(before);
  return grown;
}

const formOther = 0;
const formString = 1;
const formBigint = 2;
const formDecimal = 3;
const formInstant = 4;

function formOf(type: DataType | undefined): number {
  switch (type?.kind) {
    case 'string':
      return formString;
    case 'bigint':
      return formBigint;
    case 'decimal':
      return formDecimal;
    case 'timestamp':
      return formInstant;
    default:
      return formOther;
  }
}

const nothing = Buffer.alloc(0);
const noView = viewOf(nothing);
const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
const colon = 0x3a;
const space = 0x20;
const minus = 0x2d;
const dot = 0x2e;
const digit0 = 0x30;
const digit9 = 0x39;
const openBrace = 0x7b;
const closeBrace = 0x7d;
const openBracket = 0x5b;
const letterE = 0x65;
const letterN = 0x6e;
const letterT = 0x74;
const letterZ = 0x5a;

/** Bit 7 of each byte, and the upper four bits. */
const highBits = 0x80808080 | 0;
const highNibbles = 0xf0f0f0f0 | 0;

const instantStart = Buffer.from('0000-00-00T00:00:00.', 'latin1');
const instantStartBytes = instantStart.length;
const instantStartWords = instantStartBytes / 4;
const instantWords = Int32Array.from({ length: instantStartWords }, (_, word) =>
  instantStart.readInt32LE(word * 4),
);
/** All bits of the bytes that are no digits. */
const fixedBytes = Int32Array.from({ length: instantStartBytes / 4 }, (_, word) =>
  Buffer.from(
    instantStart.subarray(word * 4, word * 4 + 4).map((byte) => (byte === digit0 ? 0 : 0xff)),
  ).readInt32LE(0),
);

function isDigit(byte: number): boolean {
  return byte >= digit0 && byte <= digit9;
}

/** One of the escapes that the canonical form of a string has, too. */
function isKeptEscape(byte: number): boolean {
  switch (byte) {
    case quote:
    case backslash:
    case 0x62:
    case 0x66:
    case 0x6e:
    case 0x72:
    case 0x74:
      return true;
    default:
      return false;
  }
}

/** Whether a text stands right before a position. Nothing before the record's own value is looked at: it begins with `{`. */
function endsWith(bytes: Uint8Array, end: number, text: Buffer): boolean {
  const start = end - text.length;
  if (start < 0) return false;
  for (let index = 0; index < text.length; index += 1) {
    if (bytes[start + index] !== text[index]) return false;
  }
  return true;
}
