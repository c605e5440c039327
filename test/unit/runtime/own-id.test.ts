import { expect, test } from 'vitest';
import type { CatalogEntry } from '../../../src/runtime/catalog.ts';
import { OwnId } from '../../../src/runtime/own-id.ts';

const idle = (): Promise<void> => Promise.resolve();

function catalogWith(offset: number | undefined): { get: () => CatalogEntry | undefined } {
  return {
    get: () =>
      offset === undefined
        ? undefined
        : { kind: 'instance', name: 'p-pod-0', value: { instance: 'pod-0' }, offset },
  };
}

test('of two processes of one name the one that entered first gives way, and is told how to be called', () => {
  const earlier = new OwnId('p-pod-0', 'pod-0', idle);
  earlier.entered(10);
  expect(earlier.isOvertaken(catalogWith(9))).toBe(false);
  expect(earlier.isOvertaken(catalogWith(12))).toBe(true);
  expect(() => earlier.refuseOvertaken(catalogWith(12))).toThrow(
    expect.objectContaining({
      code: 'CONFIG_INVALID',
      hint: expect.stringContaining('--instance.name'),
    }),
  );
});

test('a process gives way to nobody that was there before it, nor to one that has ended', () => {
  const later = new OwnId('p-pod-0', 'pod-0', idle);
  expect(later.isOvertaken(catalogWith(12))).toBe(false);
  later.entered(14);
  expect(later.isOvertaken(catalogWith(12))).toBe(false);
  expect(later.isOvertaken(catalogWith(undefined))).toBe(false);
  expect(() => later.refuseOvertaken(catalogWith(13))).not.toThrow();
});
