import { ExpressionError } from './expression-error.ts';
import { isTimePart } from './java-format-time.ts';
import { tooLarge } from './row-errors.ts';

const widthMax = 10_000_000;
const precisionMax = 100_000;

/** One `%…` of a format. `index`: which argument (from 0); -1 the next one, -2 that of the one before, -3 none. */
export type FormatSpec = {
  readonly written: string;
  readonly index: number;
  readonly flags: string;
  readonly width: number | undefined;
  readonly precision: number | undefined;
  /** As it is written, of a time too. */
  readonly letter: string;
  /** In lower case. */
  readonly conversion: string;
  readonly isUpper: boolean;
  /** `%tY`: the part of a time. */
  readonly isTime: boolean;
};

const pattern = /%(?:(\d+)\$)?([-#+ 0,(<]*)(\d+)?(?:\.(\d+))?([tT])?([a-zA-Z%])/y;

/** Flags that a conversion refuses, whatever its argument is. */
const refusedFlags: Readonly<Record<string, string>> = {
  b: '#+ 0,(',
  h: '#+ 0,(',
  s: '+ 0,(',
  c: '#+ 0,(',
  d: '#',
  o: ',',
  x: ',',
  e: ',',
  f: '',
  g: '#',
  a: ',(',
};

/** Reads a format of Java's `Formatter` into texts and conversions; wrong ones are errors before anything is printed. */
export function readFormat(format: string): readonly (string | FormatSpec)[] {
  const parts: (string | FormatSpec)[] = [];
  let at = 0;
  while (at < format.length) {
    const next = format.indexOf('%', at);
    if (next < 0) break;
    if (next > at) parts.push(format.slice(at, next));
    pattern.lastIndex = next;
    const match = pattern.exec(format);
    if (match === null) throw wrongFormat(`'${format.slice(next, next + 20)}' is no conversion`);
    parts.push(specOf(match));
    at = pattern.lastIndex;
  }
  if (at < format.length) parts.push(format.slice(at));
  return parts;
}

function specOf(match: RegExpExecArray): FormatSpec {
  const [written, index, flags = '', width, precision, time, letter = ''] = match;
  const conversion = letter.toLowerCase();
  const spec: FormatSpec = {
    written,
    index: indexOf(index, flags, letter),
    flags,
    width: width === undefined ? undefined : Number(width),
    precision: precision === undefined ? undefined : Number(precision),
    letter,
    conversion,
    isUpper: time === undefined ? letter !== conversion : time === 'T',
    isTime: time !== undefined,
  };
  if ((spec.width ?? 0) > widthMax || (spec.precision ?? 0) > precisionMax) {
    throw tooLarge('format_string');
  }
  if (new Set(flags).size < flags.length) throw wrongFormat(`'${written}' has a flag twice`);
  if (index === '0') throw wrongFormat('arguments count from 1');
  check(spec, letter);
  return spec;
}

function indexOf(index: string | undefined, flags: string, letter: string): number {
  if (letter === 'n' || letter === '%') return -3;
  if (flags.includes('<')) return -2;
  return index === undefined ? -1 : Number(index) - 1;
}

function check(spec: FormatSpec, letter: string): void {
  const { flags, width, precision, conversion, written } = spec;
  if (spec.isTime) {
    refuse(spec, '#+ 0,(');
    if (precision !== undefined) throw wrongFormat(`'${written}' can't have a precision`);
    if (!isTimePart(letter)) throw wrongFormat(`there is no conversion %t${letter}`);
    if (flags.includes('-') && width === undefined) throw wrongFormat(`'${written}' needs a width`);
    return;
  }
  if (letter === '%' || letter === 'n') {
    const mayHave = letter === '%' ? /^-?$/ : /^$/;
    if (
      precision !== undefined ||
      !mayHave.test(flags) ||
      (letter === 'n' && width !== undefined)
    ) {
      throw wrongFormat(`'${written}' can't have flags or a precision`);
    }
  } else if (
    !(conversion in refusedFlags) ||
    (letter !== conversion && /[dfon]/.test(conversion))
  ) {
    throw wrongFormat(`there is no conversion %${letter}`);
  }
  if (/[-0]/.test(flags) && width === undefined) throw wrongFormat(`'${written}' needs a width`);
  refuse(spec, refusedFlags[conversion] ?? '');
  if (/[cdox]/.test(conversion) && precision !== undefined) {
    throw wrongFormat(`'${written}' can't have a precision`);
  }
  if (
    (flags.includes('+') && flags.includes(' ')) ||
    (flags.includes('-') && flags.includes('0'))
  ) {
    throw wrongFormat(`the flags of '${written}' don't go together`);
  }
}

/** Throws where the conversion has one of the flags. */
export function refuse(spec: FormatSpec, flags: string): void {
  const flag = [...flags].find((candidate) => spec.flags.includes(candidate));
  if (flag !== undefined) throw wrongFormat(`'${spec.written}' can't have the flag '${flag}'`);
}

export function wrongFormat(message: string): ExpressionError {
  return new ExpressionError('INVALID_PARAMETER_VALUE.FORMAT', `the format is wrong: ${message}`);
}
