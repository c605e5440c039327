import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Span } from '../../../src/data/bytes.ts';
import { Change, decodeChanges, encodeChanges, withChange } from '../../../src/data/change.ts';
import { changeMerge, type MergedRow } from '../../../src/task/change-merge.ts';

type Event = {
  readonly at: number;
  readonly seq: number;
  readonly kind: 'upsert' | 'delete';
  /** undefined: a column whose NULL is ignored. */
  readonly a: string | null | undefined;
  readonly b: string | null | undefined;
};

function span(text: string | Buffer): Span {
  const bytes = Buffer.from(text);
  return { bytes, start: 0, end: bytes.length };
}

function changeOf({ at, seq, kind, a, b }: Event): Change {
  const members = [
    '"k":1',
    ...(a === undefined ? [] : [`"a":${JSON.stringify(a)}`]),
    ...(b === undefined ? [] : [`"b":${JSON.stringify(b)}`]),
  ];
  const provenance = Buffer.alloc(36);
  provenance.writeUInt32BE(at, 24);
  return new Change(
    span(Buffer.of(seq)),
    kind === 'delete',
    span(provenance),
    span(`{${members}}`),
  );
}

const names = ['k', 'a', 'b'];

function text(value: Span | undefined): string {
  return value === undefined ? 'null' : value.bytes.toString('utf8', value.start, value.end);
}

function shown(rows: readonly MergedRow[]): string[] {
  return rows.map(({ values, history }) => {
    const range =
      history === undefined
        ? ''
        : ` ${history.start.bytes[history.start.start]}..${history.end?.bytes[history.end.start] ?? ''}`;
    return values.map(text).join() + range;
  });
}

/** The definition, with nothing kept and nothing left out: all events, in order. */
function reference(
  events: readonly Event[],
  floor: number,
  tracked: readonly string[] | undefined,
) {
  const alive = events
    .filter(({ seq }) => seq > floor)
    .map((event) => ({ event, change: changeOf(event) }))
    .sort(
      (x, y) =>
        x.event.seq - y.event.seq ||
        Number(x.event.kind === 'delete') - Number(y.event.kind === 'delete') ||
        Buffer.compare(x.change.row.bytes, y.change.row.bytes),
    );
  const rows: { values: Record<string, string>; start: number; end: number | undefined }[] = [];
  let open: (typeof rows)[number] | undefined;
  for (const seq of new Set(alive.map(({ event }) => event.seq))) {
    const group = alive.filter(({ event }) => event.seq === seq);
    if (group.some(({ event }) => event.kind === 'delete')) {
      if (open !== undefined) rows.push({ ...open, end: seq });
      open = undefined;
      continue;
    }
    const values: Record<string, string> = { k: '1', a: 'null', b: 'null', ...open?.values };
    for (const { event } of group) {
      if (event.a !== undefined) values['a'] = JSON.stringify(event.a);
      if (event.b !== undefined) values['b'] = JSON.stringify(event.b);
    }
    if (
      open !== undefined &&
      (tracked ?? names).every((name) => values[name] === open?.values[name])
    ) {
      open = { ...open, values };
    } else {
      if (open !== undefined) rows.push({ ...open, end: seq });
      open = { values, start: seq, end: undefined };
    }
  }
  if (tracked === undefined)
    return open === undefined ? [] : [names.map((n) => open?.values[n]).join()];
  if (open !== undefined) rows.push(open);
  return rows.map(
    ({ values, start, end }) => `${names.map((n) => values[n]).join()} ${start}..${end ?? ''}`,
  );
}

const value = fc.constantFrom('x', 'y', null, undefined);
const events = fc
  .array(
    fc.record({
      seq: fc.integer({ min: 1, max: 7 }),
      kind: fc.constantFrom('upsert' as const, 'upsert' as const, 'delete' as const),
      a: value,
      b: value,
    }),
    { maxLength: 10 },
  )
  .map((list) => list.map((event, at) => ({ ...event, at })));

/** Takes events in as they come, through the bytes of the state now and then, some of them twice. */
function merged(
  list: readonly Event[],
  order: readonly number[],
  floor: number,
  tracked?: number[],
) {
  const merge = changeMerge(names, tracked);
  const floorSpan = floor === 0 ? undefined : span(Buffer.of(floor));
  let kept: readonly Change[] = [];
  for (const [step, at] of order.entries()) {
    const event = list[at % Math.max(1, list.length)];
    if (event === undefined) continue;
    // The truncate comes somewhere in between: whenever it does, it holds for all.
    const known = step * 2 < order.length ? undefined : floorSpan;
    kept = merge.keep(withChange(kept, changeOf(event)), known);
    if (step % 3 === 0) kept = decodeChanges(encodeChanges(kept)) ?? [];
  }
  return { merge, kept: merge.keep(kept, floorSpan) };
}

describe('the changes of a key give the rows of the definition, whatever their order and however often they come', () => {
  const orders = fc.array(fc.nat(9), { maxLength: 12 });

  test.each([
    ['FL-25 SCD type 1', undefined],
    ['FL-25 SCD type 2', [0, 1, 2]],
    ['FL-25 SCD type 2 with TRACK HISTORY ON (a)', [1]],
  ])('%s', (_, tracked) => {
    fc.assert(
      fc.property(events, orders, fc.integer({ min: 0, max: 4 }), (list, extra, level) => {
        const floor = tracked === undefined ? level : 0;
        const everyOne = list.map((__, at) => at);
        const { merge, kept } = merged(list, [...extra, ...everyOne], floor, tracked);
        expect(shown(merge.rows(kept))).toEqual(
          reference(
            list,
            floor,
            tracked?.map((at) => names[at] ?? ''),
          ),
        );
      }),
      { numRuns: 1500 },
    );
  });

  test('FL-25 two sets of changes joined are all changes merged, from whichever side', () => {
    fc.assert(
      fc.property(events, fc.nat(10), fc.boolean(), (list, cut, hasHistory) => {
        const tracked = hasHistory ? [0, 1, 2] : undefined;
        const all = list.map((_, at) => at);
        const left = merged(list, all.slice(0, cut), 0, tracked).kept;
        const right = merged(list, all.slice(cut), 0, tracked).kept;
        const { merge, kept } = merged(list, all, 0, tracked);
        const join = (to: readonly Change[], from: readonly Change[]) =>
          encodeChanges(merge.keep(from.reduce(withChange, to), undefined)).toString('hex');
        const whole = encodeChanges(kept).toString('hex');
        expect([join(left, right), join(right, left)]).toEqual([whole, whole]);
      }),
      { numRuns: 1500 },
    );
  });
});
