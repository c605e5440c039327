import { trimControls } from '../data/date-time.ts';

/** Numbers and booleans as casts read them from text; undefined when the text is none. */
export function parseInteger(text: string): number | bigint | undefined {
  const trimmed = trimControls(text);
  if (!/^[+-]?\d+$/.test(trimmed)) return undefined;
  // `+ 0` makes 0 of -0.
  return trimmed.length <= 15 ? Number(trimmed) + 0 : BigInt(trimmed.replace('+', ''));
}

const specialDoubles: Readonly<Record<string, number>> = {
  nan: Number.NaN,
  inf: Number.POSITIVE_INFINITY,
  '+inf': Number.POSITIVE_INFINITY,
  infinity: Number.POSITIVE_INFINITY,
  '+infinity': Number.POSITIVE_INFINITY,
  '-inf': Number.NEGATIVE_INFINITY,
  '-infinity': Number.NEGATIVE_INFINITY,
};

/** What Java takes as a double, also with a `d` or `f` behind it. */
export function parseDouble(text: string): number | undefined {
  const trimmed = trimControls(text);
  if (/^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?[dDfF]?$/.test(trimmed)) {
    return Number(trimmed.replace(/[dDfF]$/, ''));
  }
  const special = trimmed.toLowerCase();
  return Object.hasOwn(specialDoubles, special) ? specialDoubles[special] : undefined;
}

export function parseBoolean(text: string): boolean | undefined {
  switch (trimControls(text).toLowerCase()) {
    case 't':
    case 'true':
    case 'y':
    case 'yes':
    case '1':
      return true;
    case 'f':
    case 'false':
    case 'n':
    case 'no':
    case '0':
      return false;
    default:
      return undefined;
  }
}
