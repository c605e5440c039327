/**
 * Date and time patterns of Java's DateTimeFormatter, as far as Spark takes them: read into elements once,
 * then printed with (`print-pattern.ts`) or parsed with (`parse-pattern.ts`).
 */
export type PatternElement =
  | { readonly element: 'text'; readonly text: string }
  | { readonly element: 'field'; readonly letter: string; readonly count: number }
  | { readonly element: 'optional'; readonly elements: readonly PatternElement[] };

/** Why a pattern is refused, by Spark's error class. */
export class PatternError extends Error {
  override readonly name = 'PatternError';
  readonly errorClass: string;

  constructor(errorClass: string, message: string) {
    super(message);
    this.errorClass = errorClass;
  }
}

/** `parse_local`: of times without a zone, which the older formatter did not know. */
export type PatternUse = 'print' | 'parse' | 'parse_local';

/** Letters and how often they may stand. */
const printable: Readonly<Record<string, number>> = {
  G: 4,
  y: 6,
  M: 4,
  L: 4,
  d: 2,
  D: 3,
  Q: 4,
  q: 4,
  E: 4,
  F: 1,
  a: 1,
  h: 2,
  K: 2,
  k: 2,
  H: 2,
  m: 2,
  s: 2,
  S: 9,
  V: 2,
  z: 4,
  O: 4,
  X: 5,
  x: 5,
  Z: 5,
};

/** Letters that a day of the week, quarter or week must not be read from. */
const unreadable = new Set(['E', 'F', 'q', 'Q']);
const weekBased = new Set(['Y', 'W', 'w', 'u', 'e', 'c']);

/** Letters of Java that Spark takes from nobody. */
const unsupported = new Set(['A', 'B', 'n', 'N', 'p']);

/** Letters of the formatter that Spark had before version 3; a pattern of those alone meant something then. */
const legacyLetters = new Set('GyYMLwWDdFEuaHkKhmsSzZX');

/** Throws PatternError. */
export function readPattern(pattern: string, use: PatternUse): readonly PatternElement[] {
  const reader = new PatternReader(pattern);
  try {
    checkLetters(pattern, use);
    return reader.elements(0);
  } catch (error) {
    if (!(error instanceof PatternError)) throw error;
    if (use === 'parse_local') {
      throw new PatternError('INVALID_DATETIME_PATTERN.WITH_SUGGESTION', error.message);
    }
    if (!isLegacy(pattern)) throw error;
    const kind = 'INCONSISTENT_BEHAVIOR_CROSS_VERSION.DATETIME_PATTERN_RECOGNITION';
    throw new PatternError(kind, error.message);
  }
}

/** Letters that are refused wherever they stand outside of quotes, part by part, before all other faults. */
function checkLetters(pattern: string, use: PatternUse): void {
  for (const part of pattern.split("'").filter((_, i) => i % 2 === 0)) {
    const letters = [...part];
    const week = letters.find((letter) => weekBased.has(letter));
    if (week !== undefined) {
      throw new PatternError(
        'INCONSISTENT_BEHAVIOR_CROSS_VERSION.DATETIME_WEEK_BASED_PATTERN',
        `the letter ${week} counts by weeks, which is not supported`,
      );
    }
    const unknown = letters.find(
      (letter) => unsupported.has(letter) || (use !== 'print' && unreadable.has(letter)),
    );
    if (unknown !== undefined) {
      throw new PatternError(
        'INVALID_DATETIME_PATTERN.ILLEGAL_CHARACTER',
        `the letter ${unknown} has no meaning`,
      );
    }
    const long = /([GMLEQq])\1{4}/.exec(part)?.[0];
    if (long !== undefined) {
      throw new PatternError('INVALID_DATETIME_PATTERN.LENGTH', `${long} is too long`);
    }
  }
}

/** A pattern that Spark's older formatter would take: it knew no reserved characters. */
function isLegacy(pattern: string): boolean {
  const parts = pattern.replaceAll("''", '').split("'");
  const letters = parts.filter((_, i) => i % 2 === 0).join(' ');
  const isClosed = parts.length % 2 === 1;
  const isKnown = (letters.match(/[a-zA-Z]/g) ?? []).every((letter) => legacyLetters.has(letter));
  return isClosed && isKnown && !/X{4}/.test(letters);
}

class PatternReader {
  readonly #pattern: string;
  #at = 0;

  constructor(pattern: string) {
    this.#pattern = pattern;
  }

  elements(depth: number): readonly PatternElement[] {
    const elements: PatternElement[] = [];
    while (this.#at < this.#pattern.length) {
      const character = this.#pattern[this.#at] ?? '';
      this.#at += 1;
      if (character === "'") {
        elements.push({ element: 'text', text: this.#quoted() });
      } else if (character === '[') {
        elements.push({ element: 'optional', elements: this.elements(depth + 1) });
      } else if (character === ']') {
        if (depth === 0) throw this.#malformed('a ] has no [');
        return elements;
      } else if (/[a-zA-Z]/.test(character)) {
        elements.push(this.#field(character));
      } else if (/[{}#]/.test(character)) {
        throw this.#malformed(`${character} is reserved`);
      } else {
        elements.push({ element: 'text', text: character });
      }
    }
    return elements;
  }

  /** Behind a quote: `''` is a quote itself, inside and outside of quotes. */
  #quoted(): string {
    if (this.#pattern[this.#at] === "'") {
      this.#at += 1;
      return "'";
    }
    let text = '';
    for (;;) {
      const character = this.#pattern[this.#at];
      if (character === undefined) throw this.#malformed('a quote is not closed');
      this.#at += 1;
      if (character !== "'") {
        text += character;
      } else if (this.#pattern[this.#at] === "'") {
        text += "'";
        this.#at += 1;
      } else {
        return text;
      }
    }
  }

  #field(letter: string): PatternElement {
    let count = 1;
    while (this.#pattern[this.#at] === letter) {
      count += 1;
      this.#at += 1;
    }
    const most = Object.hasOwn(printable, letter) ? (printable[letter] ?? 0) : 0;
    if (most === 0) throw this.#malformed(`the letter ${letter} has no meaning`);
    const isShort =
      (letter === 'V' && count !== 2) || (letter === 'O' && count !== 1 && count !== 4);
    if (letter === 'y' && count > most) {
      const message = `${letter.repeat(count)} is too long`;
      throw new PatternError('INVALID_DATETIME_PATTERN.LENGTH', message);
    }
    if (count > most || isShort) {
      throw this.#malformed(`the letter ${letter} can't stand ${count} times`);
    }
    return { element: 'field', letter, count };
  }

  #malformed(message: string): PatternError {
    return new PatternError('INVALID_DATETIME_PATTERN.WITH_SUGGESTION', message);
  }
}
