import { daysFromCivil } from './civil.ts';

/**
 * Time zones by the names that Spark accepts: fixed offsets are computed, regions are asked from the
 * engine's time zone data and remembered. Invariant: the same name is the same `Zone`, and an offset
 * depends on nothing but the zone and the instant.
 */
export type Zone =
  | { readonly kind: 'fixed'; readonly name: string; readonly offsetMicros: bigint }
  | { readonly kind: 'region'; readonly name: string; readonly offsets: RegionOffsets };

export const utc: Zone = { kind: 'fixed', name: 'UTC', offsetMicros: 0n };

/** `Z`, `+2`, `+02:00`, `UTC+3`, `Europe/Warsaw`, …; undefined when there is no such zone. */
export function zoneOf(name: string): Zone | undefined {
  const known = zones.get(name);
  if (known !== undefined) return known;
  const zone = makeZone(name);
  if (zone !== undefined) {
    if (zones.size >= zonesMax) zones.clear();
    zones.set(name, zone);
  }
  return zone;
}

/** What local time is ahead of UTC at that instant. */
export function offsetMicrosAt(zone: Zone, utcMicros: bigint): bigint {
  if (zone.kind === 'fixed') return zone.offsetMicros;
  return BigInt(zone.offsets.secondsAt(floorToSeconds(utcMicros))) * 1_000_000n;
}

/**
 * The instant of a local time. A time that a clock skipped moves forward by what was skipped; of a
 * time that came twice the first is taken.
 */
export function localToUtc(zone: Zone, localMicros: bigint): bigint {
  if (zone.kind === 'fixed') return localMicros - zone.offsetMicros;
  const before = offsetMicrosAt(zone, localMicros - microsPerDay);
  const early = localMicros - before;
  if (offsetMicrosAt(zone, early) === before) return early;
  const after = offsetMicrosAt(zone, localMicros + microsPerDay);
  const late = localMicros - after;
  return offsetMicrosAt(zone, late) === after ? late : early;
}

const microsPerDay = 86_400_000_000n;

/** Records name zones, so the memory of names is bounded. */
const zonesMax = 2_000;

const zones = new Map<string, Zone>([
  ['UTC', utc],
  ['Z', utc],
  ['GMT', utc],
  ['UT', utc],
]);

/** The three-letter names that Java knows, and Spark with it. */
const shortNames: ReadonlyMap<string, string> = new Map([
  ['ACT', 'Australia/Darwin'],
  ['AET', 'Australia/Sydney'],
  ['AGT', 'America/Argentina/Buenos_Aires'],
  ['ART', 'Africa/Cairo'],
  ['AST', 'America/Anchorage'],
  ['BET', 'America/Sao_Paulo'],
  ['BST', 'Asia/Dhaka'],
  ['CAT', 'Africa/Harare'],
  ['CNT', 'America/St_Johns'],
  ['CST', 'America/Chicago'],
  ['CTT', 'Asia/Shanghai'],
  ['EAT', 'Africa/Addis_Ababa'],
  ['ECT', 'Europe/Paris'],
  ['EST', '-05:00'],
  ['HST', '-10:00'],
  ['IET', 'America/Indiana/Indianapolis'],
  ['IST', 'Asia/Kolkata'],
  ['JST', 'Asia/Tokyo'],
  ['MIT', 'Pacific/Apia'],
  ['MST', '-07:00'],
  ['NET', 'Asia/Yerevan'],
  ['NST', 'Pacific/Auckland'],
  ['PLT', 'Asia/Karachi'],
  ['PNT', 'America/Phoenix'],
  ['PRT', 'America/Puerto_Rico'],
  ['PST', 'America/Los_Angeles'],
  ['SST', 'Pacific/Guadalcanal'],
  ['VST', 'Asia/Ho_Chi_Minh'],
]);

function makeZone(name: string): Zone | undefined {
  // Spark still takes one-digit hours and minutes, which Java does not.
  const padded = name.replace(/([+-])(\d):/, '$10$2:').replace(/([+-])(\d\d):(\d)$/, '$1$2:0$3');
  const full = shortNames.get(padded) ?? padded;
  const offset = /^(?:UTC|GMT|UT)?([+-].*)$/.exec(full)?.[1];
  if (offset !== undefined) return fixedZone(name, offset);
  return regionZone(full);
}

function fixedZone(name: string, offset: string): Zone | undefined {
  const match =
    /^([+-])(\d{1,2})$/.exec(offset) ??
    /^([+-])(\d\d)(\d\d)(\d\d)?$/.exec(offset) ??
    /^([+-])(\d\d):(\d\d)(?::(\d\d))?$/.exec(offset);
  if (match === null) return undefined;
  const [, sign, hours = '0', minutes = '0', seconds = '0'] = match;
  if (Number(minutes) > 59 || Number(seconds) > 59) return undefined;
  const total = Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds);
  if (total > 18 * 3600) return undefined;
  const micros = BigInt(total) * 1_000_000n;
  return { kind: 'fixed', name, offsetMicros: sign === '-' ? -micros : micros };
}

function regionZone(name: string): Zone | undefined {
  // The engine takes any case; Java, and so Spark, only the written one. A link (an older name) is
  // answered with its target, where only the first letter can be checked.
  if (!/^[A-Z][A-Za-z0-9~/._+-]+$/.test(name)) return undefined;
  try {
    const format = new Intl.DateTimeFormat('en-US', {
      timeZone: name,
      hourCycle: 'h23',
      era: 'short',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    });
    const resolved = format.resolvedOptions().timeZone;
    if (resolved !== name && resolved.toLowerCase() === name.toLowerCase()) return undefined;
    return { kind: 'region', name, offsets: new RegionOffsets(format) };
  } catch {
    return undefined;
  }
}

function floorToSeconds(micros: bigint): number {
  const seconds = micros / 1_000_000n;
  return Number(seconds * 1_000_000n > micros ? seconds - 1n : seconds);
}

type Week = {
  readonly before: number;
  /** Second of the change inside the week; Infinity when there is none. */
  readonly changesAt: number;
  readonly after: number;
};

/** The offsets of one region, found week by week: no region changed its clock twice in a week. */
class RegionOffsets {
  readonly #format: Intl.DateTimeFormat;
  readonly #weeks = new Map<number, Week>();

  constructor(format: Intl.DateTimeFormat) {
    this.#format = format;
  }

  secondsAt(utcSeconds: number): number {
    // Beyond what the engine's formatter takes (the year 275760) the last offset holds.
    const seconds = Math.min(Math.max(utcSeconds, -secondsMax), secondsMax);
    const number = Math.floor(seconds / secondsPerWeek);
    let week = this.#weeks.get(number);
    if (week === undefined) {
      if (this.#weeks.size >= weeksMax) this.#weeks.clear();
      week = this.#week(number * secondsPerWeek);
      this.#weeks.set(number, week);
    }
    return seconds < week.changesAt ? week.before : week.after;
  }

  #week(start: number): Week {
    const before = this.#ask(start);
    const after = this.#ask(start + secondsPerWeek);
    if (before === after) return { before, changesAt: Number.POSITIVE_INFINITY, after };
    let low = start;
    let high = start + secondsPerWeek;
    while (high - low > 1) {
      const middle = Math.floor((low + high) / 2);
      if (this.#ask(middle) === before) low = middle;
      else high = middle;
    }
    return { before, changesAt: high, after };
  }

  #ask(utcSeconds: number): number {
    const parts: Record<string, string> = {};
    const bounded = Math.min(Math.max(utcSeconds, -secondsMax), secondsMax);
    for (const part of this.#format.formatToParts(bounded * 1000)) parts[part.type] = part.value;
    const number = (name: string): number => Number(parts[name]);
    const year = parts['era']?.startsWith('B') ? 1 - number('year') : number('year');
    const days = daysFromCivil(year, number('month'), number('day'));
    const local = days * 86_400 + number('hour') * 3600 + number('minute') * 60 + number('second');
    return local - bounded;
  }
}

const secondsPerWeek = 604_800;
const secondsMax = 8_640_000_000_000;
const weeksMax = 20_000;
