import { describe, expect, test } from 'vitest';
import { MemoryLog } from '../../../src/adapters/memory/memory-log.ts';
import { checkAppended } from '../../../src/testing/check/check-appended.ts';
import { checkChanges } from '../../../src/testing/check/check-changes.ts';
import { checkMonotone, MonotoneCheck } from '../../../src/testing/check/check-monotone.ts';
import { checkResult } from '../../../src/testing/check/check-result.ts';
import { checkView } from '../../../src/testing/check/check-view.ts';
import { findMoment } from '../../../src/testing/check/find-moment.ts';
import { reference } from '../../../src/testing/check/reference.ts';
import { referenceChanges } from '../../../src/testing/check/reference-changes.ts';

const topicId = '0'.repeat(32);

/** A row-set record: sequence and rows, each row being the offset that it came from. */
type Written = readonly [key: string, sequence: number, offsets: readonly number[]];

const key = (name: string) => `{"k":"${name}"}`;
const row = (offset: number) => `{"v":${offset}}`;
const source = (offset: number) => `${topicId}/0@${offset}#0.0`;

function rowSetLog(...written: readonly (Written | readonly [key: string])[]) {
  const log = new MemoryLog();
  log.createTopic('out', 1);
  for (const [name, sequence, offsets] of written) {
    if (sequence === undefined || offsets === undefined) {
      log.produce('out', 0, { key: key(name), value: null });
      continue;
    }
    log.produce('out', 0, {
      key: key(name),
      value: `[${offsets.map(row).join()}]`,
      headers: {
        'tm-seq': String(sequence),
        'tm-src': `${topicId}/0${offsets.map((offset) => `@${offset}`).join()}`,
      },
    });
  }
  return log.readCommitted('out');
}

/** One transaction of mode `rows`: row number, sequence and source offset; undefined: a tombstone. */
async function rowsLog(
  ...transactions: readonly (readonly (readonly [number, number?, number?])[])[]
) {
  const log = new MemoryLog();
  log.createTopic('out', 1);
  for (const transaction of transactions) {
    const staging = new MemoryLog();
    staging.createTopic('out', 1);
    for (const [number, sequence, offset] of transaction) {
      const headers =
        sequence === undefined
          ? {}
          : { 'tm-seq': String(sequence), 'tm-src': `${topicId}/0@${offset}` };
      const value = offset === undefined ? null : row(offset);
      staging.produce('out', 0, { key: `{"k":"a","_row":${number}}`, value, headers });
    }
    const producer = await log.openProducer('p');
    const reader = staging.openReader();
    reader.assign('out', 0, 0);
    for (const { records } of await reader.poll(0)) {
      while (records.next()) {
        const { bytes } = records;
        producer.append('out', 0, { ...spans(records), key: bytes, value: bytes, headers: bytes });
      }
    }
    await producer.commit([]);
  }
  return log.readCommitted('out');
}

function spans(at: {
  readonly keyStart: number;
  readonly keyEnd: number;
  readonly valueStart: number;
  readonly valueEnd: number;
  readonly headersStart: number;
  readonly headersEnd: number;
}) {
  const { keyStart, keyEnd, valueStart, valueEnd, headersStart, headersEnd } = at;
  return { keyStart, keyEnd, valueStart, valueEnd, headersStart, headersEnd, timestampMs: 0 };
}

const monotone = (records: Parameters<typeof checkMonotone>[0], mode: 'row_set' | 'rows') =>
  checkMonotone(records, mode, Number, (a, b) => a - b);

describe('reference', () => {
  test('RU-03 holds the rows of the highest sequence of each key, whatever the order', () => {
    const rows = [
      { key: 'a', sequence: 1, provenance: 'p1', row: 'r1' },
      { key: 'a', sequence: 2, provenance: 'p2', row: 'r2' },
      { key: 'a', sequence: 2, provenance: 'p3', row: 'r2' },
      { key: 'b', sequence: 1, provenance: 'p4', row: 'r4' },
    ];
    const expected = new Map([
      [
        'a',
        {
          sequence: 2,
          rows: new Map([
            ['p2', 'r2'],
            ['p3', 'r2'],
          ]),
        },
      ],
      ['b', { sequence: 1, rows: new Map([['p4', 'r4']]) }],
    ]);
    const compare = (a: number, b: number) => a - b;
    expect(reference(rows, compare)).toEqual(expected);
    expect(reference([...rows].reverse(), compare)).toEqual(expected);
  });

  test('RU-14 a row that is read twice is one row', () => {
    const one = { key: 'a', sequence: 1, provenance: 'p1', row: 'r1' };
    expect(reference([one, one], (a, b) => a - b).get('a')?.rows.size).toBe(1);
  });
});

describe('check of the result', () => {
  const expected = reference(
    [
      { key: key('a'), sequence: 2, provenance: source(1), row: row(1) },
      { key: key('a'), sequence: 2, provenance: source(3), row: row(3) },
      { key: key('b'), sequence: 7, provenance: source(2), row: row(2) },
    ],
    (a, b) => a - b,
  );

  test('finds nothing in a right output', () => {
    const records = rowSetLog(['a', 1, [0]], ['b', 7, [2]], ['a', 2, [1, 3]], ['c', 1, [9]], ['c']);
    expect(checkResult(records, 'row_set', expected)).toEqual([]);
  });

  test.each([
    [
      'a lost row',
      [
        ['a', 2, [1]],
        ['b', 7, [2]],
      ],
      [`${key('a')}: lacks ${source(3)} ${row(3)}`],
    ],
    [
      'a repeated row',
      [
        ['a', 2, [1, 3]],
        ['b', 7, [2, 2]],
      ],
      [`${key('b')}: has ${source(2)} ${row(2)}`],
    ],
    [
      'a key too many',
      [
        ['a', 2, [1, 3]],
        ['b', 7, [2]],
        ['c', 1, [9]],
      ],
      [`${key('c')}: has rows, expected none`],
    ],
    [
      'a wrong sequence',
      [
        ['a', 2, [1, 3]],
        ['b', 8, [2]],
      ],
      [`${key('b')}: has sequence 8, expected 7`],
    ],
    [
      'a deleted key',
      [['a', 2, [1, 3]], ['b', 7, [2]], ['b']],
      [`${key('b')}: lacks ${source(2)} ${row(2)}`],
    ],
  ] as const)('finds %s', (_, written, faults) => {
    expect(checkResult(rowSetLog(...written), 'row_set', expected)).toEqual(faults);
  });
});

describe('check of what readers saw', () => {
  test('finds nothing where sequences only rise and ties only add', () => {
    const records = rowSetLog(['a', 1, [0]], ['a', 1, [0, 1]], ['b', 5, [2]], ['a', 3, [4]], ['a']);
    expect(monotone(records, 'row_set')).toEqual([]);
  });

  test.each([
    [
      'RU-04 a sequence that falls',
      [
        ['a', 2, [0]],
        ['a', 1, [1]],
      ],
      'falls from sequence 2 to 1',
    ],
    [
      'a row that vanishes',
      [
        ['a', 2, [0, 1]],
        ['a', 2, [1]],
      ],
      `loses row ${source(0)} at the same sequence`,
    ],
    ['a row twice', [['a', 2, [0, 0]]], 'shows one row twice'],
    [
      'a fall behind a tombstone',
      [['a', 2, [0]], ['a'], ['a', 1, [1]]],
      'falls from sequence 2 to 1',
    ],
  ] as const)('finds %s', (_, written, fault) => {
    const faults = monotone(rowSetLog(...written), 'row_set');
    expect(faults).toHaveLength(1);
    expect(faults[0]).toContain(fault);
  });

  test('in mode rows, a replacement within one transaction is whole', async () => {
    const records = await rowsLog(
      [
        [0, 1, 0],
        [1, 1, 1],
      ],
      [[0, 2, 2], [1]],
    );
    expect(monotone(records, 'rows')).toEqual([]);
  });

  test('in mode rows, a replacement over two transactions is torn', async () => {
    const records = await rowsLog(
      [
        [0, 1, 0],
        [1, 1, 1],
      ],
      [[0, 2, 2]],
      [[1]],
    );
    expect(monotone(records, 'rows')).toEqual([
      expect.stringContaining('mixes the sequences 2 and 1'),
    ]);
  });
});

describe('appended rows', () => {
  const appended = (...offsets: readonly number[]) => {
    const log = new MemoryLog();
    log.createTopic('out', 1);
    for (const offset of offsets) {
      const headers = { 'tm-src': `${topicId}/0@${offset}` };
      log.produce('out', 0, { value: row(offset), headers });
    }
    return log.readCommitted('out');
  };
  const expected = [1, 2].map((offset) => ({ provenance: source(offset), row: row(offset) }));

  test('each is there once, in any order', () => {
    expect(checkAppended(appended(2, 1), expected, true)).toEqual([]);
  });

  test.each([
    { offsets: [1], fault: `lacks ${source(2)}` },
    { offsets: [1, 2, 2], fault: `has ${source(2)}` },
    { offsets: [1, 2, 3], fault: `has ${source(3)}` },
  ])('$fault', ({ offsets, fault }) => {
    expect(checkAppended(appended(...offsets), expected, true).join()).toContain(fault);
  });

  test('without transactions a row may be there again, and none may be missing', () => {
    expect(checkAppended(appended(1, 2, 2), expected, false)).toEqual([]);
    expect(checkAppended(appended(2, 2), expected, false)).toHaveLength(1);
  });
});

test('what a reader sees is judged in as many steps as it comes in', () => {
  const records = rowSetLog(['a', 1, [1]], ['a', 2, [2]], ['a', 1, [1]]);
  const order = { sequenceOf: Number, compare: (a: number, b: number) => a - b };
  const check = new MonotoneCheck('row_set', order);
  expect(check.add(records.slice(0, 1))).toEqual([]);
  expect(check.add(records.slice(1, 2))).toEqual([]);
  expect(check.add(records.slice(2)).join()).toContain('falls from sequence 2 to 1');
});

describe('changes', () => {
  const change = (sequence: number, text: string | undefined, name = 'a') => ({
    key: key(name),
    sequence,
    row: text === undefined ? undefined : `{"v":"${text}"}`,
  });
  const all = { key: '', row: undefined, isTruncate: true } as const;

  test('FL-25 a delete counts before rows of its sequence, and of rows the one with the higher text', () => {
    const changes = [change(2, 'x'), change(2, 'y'), change(1, 'z')];
    for (const arrived of [changes, [...changes].reverse()]) {
      expect(referenceChanges(arrived, 'current')).toEqual(new Map([[key('a'), ['{"v":"y"}']]]));
      expect(referenceChanges([...arrived, change(2, undefined)], 'current')).toEqual(new Map());
    }
  });

  test('FL-25 a truncate takes what is not above it, in any order', () => {
    const changes = [change(2, 'x'), { ...all, sequence: 2 }, change(3, 'y', 'b'), change(1, 'z')];
    expect(referenceChanges(changes, 'current')).toEqual(new Map([[key('b'), ['{"v":"y"}']]]));
  });

  test('FL-26 a history has a row for each change, and none for one that changes nothing', () => {
    const changes = [
      change(5, 'y'),
      change(1, 'x'),
      change(2, 'x'),
      change(7, undefined),
      change(9, 'x'),
    ];
    expect(referenceChanges(changes, 'history').get(key('a'))).toEqual([
      '{"v":"x","__START_AT":1,"__END_AT":5}',
      '{"v":"y","__START_AT":5,"__END_AT":7}',
      '{"v":"x","__START_AT":9,"__END_AT":null}',
    ]);
  });

  test('the check finds rows that are missing, wrong or too many, and a sequence that falls', () => {
    const want = new Map([[key('a'), [row(1)]]]);
    expect(checkChanges(rowSetLog(['a', 1, [1]]), want)).toEqual([]);
    expect(checkChanges(rowSetLog(['a', 1, [1]], ['b', 1, [2]], ['b']), want)).toEqual([]);
    for (const wrong of [rowSetLog(), rowSetLog(['a', 1, [2]]), rowSetLog(['a', 1, [1, 2]])]) {
      expect(checkChanges(wrong, want)).toHaveLength(1);
    }
    expect(checkChanges(rowSetLog(['a', 1, [1]], ['b', 1, [1]]), want)).toHaveLength(1);
    expect(checkChanges(rowSetLog(['a', 2, [2]], ['a', 1, [1]]), want)).toEqual([
      `0@1 ${key('a')}: falls from sequence 2 to 1`,
    ]);
  });
});

test('the check of a view finds groups that are wrong, missing or still there, and a run that comes too late', () => {
  const want = new Map([[key('a'), row(1)]]);
  expect(checkView(rowSetLog(['a', 1, [2]], ['a', 2, [1]], ['b', 1, [1]], ['b']), want)).toEqual(
    [],
  );
  for (const wrong of [rowSetLog(), rowSetLog(['a', 1, [2]])]) {
    expect(checkView(wrong, want)).toHaveLength(1);
  }
  expect(checkView(rowSetLog(['a', 1, [1]], ['b', 1, [1]]), want)).toHaveLength(1);
  expect(checkView(rowSetLog(['a', 2, [2]], ['a', 1, [1]]), want)).toEqual([
    `0@1 ${key('a')}: run 1 comes after 2`,
  ]);
});

describe('the check of a moment', () => {
  const at = (lane: string, value: number, isOld = false) => ({ lane, value, isOld });
  const records = [at('0', 1, true), at('1', 10, true), at('0', 2), at('1', 20), at('0', 4)];
  const sumOf = (seen: readonly { readonly value: number }[]): number =>
    seen.reduce((sum, { value }) => sum + value, 0);
  const moment = (sum: number) =>
    findMoment({
      records,
      isPossible: ({ value }) => value <= sum,
      isNeeded: () => false,
      isResult: (seen) => sumOf(seen) === sum,
    });

  test('finds what was seen of each lane, with all that was there before', () => {
    for (const sum of [11, 13, 17, 31, 33, 37]) expect(sumOf(moment(sum) ?? [])).toBe(sum);
  });

  test('finds none where something old, or something in the middle of a lane, was not seen', () => {
    for (const sum of [0, 1, 10, 15, 21, 35, 38]) expect(moment(sum)).toBeUndefined();
  });
});
