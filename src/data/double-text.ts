/**
 * Doubles and floats as Java prints them, which is how Spark casts them to text: `1.0E7`, `1.0E-4`, `0.1`.
 * Invariant: the shortest digits that read back as the same number, with at least one behind the point.
 */
export function formatDouble(value: number): string {
  return special(value) ?? javaForm(digitsOfDouble(value));
}

/** As `formatDouble`, with the digits that tell one float from its neighbours. */
export function formatFloat(value: number): string {
  return special(value) ?? javaForm(digitsOfFloat(value));
}

/** The double with the shortest text that rounds to this float: 0.1 for `Math.fround(0.1)`. */
export function shortestDoubleOfFloat(value: number): number {
  if (!Number.isFinite(value) || value === 0) return value;
  return Number(digitsOfFloat(value));
}

function special(value: number): string | undefined {
  if (Number.isNaN(value)) return 'NaN';
  if (!Number.isFinite(value)) return value > 0 ? 'Infinity' : '-Infinity';
  if (value === 0) return Object.is(value, -0) ? '-0.0' : '0.0';
  return undefined;
}

/** In the form `d.ddde±n`. */
function digitsOfDouble(value: number): string {
  const shortest = value.toExponential();
  // Of one-digit texts Java takes the nearest one with two digits: 4.9E-324, not 5.0E-324.
  return shortest.includes('.') ? shortest : value.toExponential(1);
}

function digitsOfFloat(value: number): string {
  for (let digits = 1; digits < 9; digits += 1) {
    const text = value.toExponential(digits);
    if (Math.fround(Number(text)) === value) return text;
  }
  return value.toExponential(9);
}

function javaForm(exponential: string): string {
  const [mantissa = '', exponentText = '0'] = exponential.split('e');
  const negative = mantissa.startsWith('-');
  const [whole = '', fraction = ''] = (negative ? mantissa.slice(1) : mantissa).split('.');
  const digits = (whole + fraction).replace(/0+$/, '');
  const exponent = Number(exponentText);
  const sign = negative ? '-' : '';
  if (exponent < -3 || exponent >= 7) {
    return `${sign}${digits[0]}.${digits.slice(1) || '0'}E${exponent}`;
  }
  if (exponent < 0) return `${sign}0.${'0'.repeat(-exponent - 1)}${digits}`;
  const padded = digits.padEnd(exponent + 1, '0');
  return `${sign}${padded.slice(0, exponent + 1)}.${padded.slice(exponent + 1) || '0'}`;
}
