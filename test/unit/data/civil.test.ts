import fc from 'fast-check';
import { expect, test } from 'vitest';
import { civilFromDays, daysFromCivil, daysOfMonth, isLeapYear } from '../../../src/data/civil.ts';

test('known days', () => {
  expect(daysFromCivil(1970, 1, 1)).toBe(0);
  expect(daysFromCivil(2000, 2, 29)).toBe(11_016);
  expect(daysFromCivil(1, 1, 1)).toBe(-719_162);
  expect(civilFromDays(-1)).toEqual({ year: 1969, month: 12, day: 31 });
  expect(civilFromDays(2_932_896)).toEqual({ year: 9999, month: 12, day: 31 });
});

test('P039 the calendar is proleptic Gregorian: it agrees with the engine also before 1582', () => {
  fc.assert(
    fc.property(fc.integer({ min: -90_000_000, max: 90_000_000 }), (days) => {
      const date = new Date(days * 86_400_000);
      expect(civilFromDays(days)).toEqual({
        year: date.getUTCFullYear(),
        month: date.getUTCMonth() + 1,
        day: date.getUTCDate(),
      });
    }),
  );
});

test('days to a date and back, over the whole DATE type', () => {
  fc.assert(
    fc.property(fc.integer(), (days) => {
      const { year, month, day } = civilFromDays(days);
      expect(daysFromCivil(year, month, day)).toBe(days);
      expect(day).toBeLessThanOrEqual(daysOfMonth(year, month));
    }),
  );
});

test('leap years', () => {
  expect([1900, 2000, 2023, 2024, 0, -4].map(isLeapYear)).toEqual([
    false,
    true,
    false,
    true,
    true,
    true,
  ]);
});
