/**
 * The conversions `%t…` of Java's `Formatter` over a count of milliseconds since 1970, in UTC and English. Invariant: days before
 * 15 October 1582 are those of the Julian calendar, as Java's calendar has them.
 */
export function javaTimePart(letter: string, millis: bigint): string | undefined {
  const time = readTime(millis);
  return part(letter, time);
}

/** Whether there is such a conversion; it is known before there is a value. */
export function isTimePart(letter: string): boolean {
  return part(letter, readTime(0n)) !== undefined;
}

type Time = {
  readonly millis: bigint;
  readonly year: number;
  readonly month: number;
  readonly day: number;
  readonly dayOfYear: number;
  readonly weekday: number;
  readonly hour: number;
  readonly minute: number;
  readonly second: number;
  readonly milli: number;
};

const dayMillis = 86_400_000n;
/** The first day of the Gregorian calendar, counted from 1970. */
const gregorianStart = -141_427n;

function readTime(millis: bigint): Time {
  const inDay = ((millis % dayMillis) + dayMillis) % dayMillis;
  const days = (millis - inDay) / dayMillis;
  const ofDay = Number(inDay);
  return {
    millis,
    ...dateOf(days),
    weekday: Number((((days + 4n) % 7n) + 7n) % 7n),
    hour: Math.floor(ofDay / 3_600_000),
    minute: Math.floor(ofDay / 60_000) % 60,
    second: Math.floor(ofDay / 1000) % 60,
    milli: ofDay % 1000,
  };
}

/** Year (of its era, as Java prints it), month, day and day of the year. */
function dateOf(days: bigint): Pick<Time, 'year' | 'month' | 'day' | 'dayOfYear'> {
  const isGregorian = days >= gregorianStart;
  // Days since 1 March of the year 0, with leap days at the end of a year.
  const shifted = Number(days) + (isGregorian ? 719_468 : 719_470);
  const cycle = isGregorian ? 146_097 : 1461;
  const years = isGregorian ? 400 : 4;
  const cycles = Math.floor(shifted / cycle);
  const inCycle = shifted - cycles * cycle;
  const leaps = isGregorian
    ? inCycle -
      Math.floor(inCycle / 1460) +
      Math.floor(inCycle / 36_524) -
      Math.floor(inCycle / 146_096)
    : inCycle - Math.floor(inCycle / 1460);
  const yearOfCycle = Math.floor(leaps / 365);
  const leapDays = Math.floor(yearOfCycle / 4) - (isGregorian ? Math.floor(yearOfCycle / 100) : 0);
  const inYear = inCycle - (365 * yearOfCycle + leapDays);
  const index = Math.floor((5 * inYear + 2) / 153);
  const month = index < 10 ? index + 3 : index - 9;
  const proleptic = yearOfCycle + cycles * years + (month <= 2 ? 1 : 0);
  const isLeap =
    proleptic % 4 === 0 && (!isGregorian || proleptic % 100 !== 0 || proleptic % 400 === 0);
  return {
    year: proleptic > 0 ? proleptic : 1 - proleptic,
    month,
    day: inYear - Math.floor((153 * index + 2) / 5) + 1,
    dayOfYear: month <= 2 ? inYear - 305 : inYear + 60 + (isLeap ? 1 : 0),
  };
}

function part(letter: string, time: Time): string | undefined {
  const { year, month, day, dayOfYear, weekday, hour, minute, second, milli, millis } = time;
  const all = (letters: string, between: string): string =>
    [...letters].map((one) => part(one, time)).join(between);
  switch (letter) {
    case 'H':
      return digits(hour, 2);
    case 'I':
      return digits(hour % 12 || 12, 2);
    case 'k':
      return String(hour);
    case 'l':
      return String(hour % 12 || 12);
    case 'M':
      return digits(minute, 2);
    case 'S':
      return digits(second, 2);
    case 'L':
      return digits(milli, 3);
    case 'N':
      return digits(milli * 1_000_000, 9);
    case 'p':
      return hour < 12 ? 'am' : 'pm';
    case 'z':
      return '+0000';
    case 'Z':
      return 'UTC';
    case 's':
      return String(millis / 1000n);
    case 'Q':
      return String(millis);
    case 'A':
      return weekdays[weekday];
    case 'a':
      return weekdays[weekday]?.slice(0, 3);
    case 'B':
      return months[month - 1];
    case 'b':
    case 'h':
      return months[month - 1]?.slice(0, 3);
    case 'C':
      return digits(Math.floor(year / 100), 2);
    case 'Y':
      return digits(year, 4);
    case 'y':
      return digits(year % 100, 2);
    case 'j':
      return digits(dayOfYear, 3);
    case 'm':
      return digits(month, 2);
    case 'd':
      return digits(day, 2);
    case 'e':
      return String(day);
    case 'R':
      return all('HM', ':');
    case 'T':
      return all('HMS', ':');
    case 'r':
      return `${all('IMS', ':')} ${part('p', time)?.toUpperCase()}`;
    case 'D':
      return all('mdy', '/');
    case 'F':
      return all('Ymd', '-');
    case 'c':
      return all('abdTZY', ' ');
    default:
      return undefined;
  }
}

function digits(value: number, least: number): string {
  return String(value).padStart(least, '0');
}

const weekdays = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];
const months = [
  ...['January', 'February', 'March', 'April', 'May', 'June', 'July', 'August', 'September'],
  ...['October', 'November', 'December'],
];
