/** What a unit of time is in microseconds, under each of its spellings. */
const unitMicros: Readonly<Record<string, bigint>> = {
  us: 1n,
  microsecond: 1n,
  ms: 1_000n,
  millisecond: 1_000n,
  s: 1_000_000n,
  second: 1_000_000n,
  min: 60_000_000n,
  minute: 60_000_000n,
  h: 3_600_000_000n,
  hour: 3_600_000_000n,
  d: 86_400_000_000n,
  day: 86_400_000_000n,
  w: 604_800_000_000n,
  week: 604_800_000_000n,
};

/**
 * Reads an interval of fixed length as options have it: `1 day`, `90s`, `INTERVAL 1 HOUR 30 MINUTES`.
 * Months and years have no fixed length; for them, and for text that is no interval, it gives undefined.
 */
export function parseDurationMicros(text: string): bigint | undefined {
  const body = text
    .trim()
    .toLowerCase()
    .replace(/^interval\b/u, '')
    .replaceAll("'", '');
  const part = /\s*(\d{1,12})\s*([a-z]+)/uy;
  let micros = 0n;
  let read = 0;
  while (read < body.length) {
    part.lastIndex = read;
    const match = part.exec(body);
    if (match === null) return body.slice(read).trim() === '' && read > 0 ? micros : undefined;
    const word = match[2] ?? '';
    const unit = unitMicros[word] ?? unitMicros[word.replace(/s$/u, '')];
    if (unit === undefined) return undefined;
    micros += BigInt(match[1] ?? '0') * unit;
    read = part.lastIndex;
  }
  return read === 0 ? undefined : micros;
}
