import {
  cpSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openEmbeddedStateStore } from '../../../src/adapters/embedded/embedded-state-store.ts';
import type { StateMark, StateStore } from '../../../src/ports/state-store.ts';
import { at, everything, task, write } from '../../support/state-store-contract.ts';

let root: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'tidemark-state-'));
});

afterEach(() => {
  rmSync(root, { recursive: true });
});

const tiny = { segmentBytesMin: 300, segmentBytesMax: 600, cacheBytes: 0 };

function open(directory: string, sizes: object = tiny): Promise<StateStore> {
  return openEmbeddedStateStore({ directory, ...sizes });
}

type Stand = { readonly mark: StateMark | undefined; readonly entries: Map<string, string> };

async function standOf(directory: string, epoch = 1_000): Promise<Stand> {
  const store = await open(directory);
  const session = await store.open(task, epoch);
  const stand = { mark: await session.mark(), entries: await everything(session) };
  await store.close();
  return stand;
}

/** Writes some batches; returns what was true after each mark. */
async function fill(
  directory: string,
  batches: number,
  sizes: object = tiny,
): Promise<Map<number, Map<string, string>>> {
  const store = await open(directory, sizes);
  const session = await store.open(task, 1);
  const state = new Map<string, string>();
  const history = new Map<number, Map<string, string>>();
  for (let offset = 1; offset <= batches; offset++) {
    const entries: Record<string, string | undefined> = {};
    for (let index = 0; index < 1 + (offset % 4); index++) {
      const key = `k${(offset * 7 + index * 3) % 17}`;
      entries[key] = (offset + index) % 5 === 0 ? undefined : `${offset}`.repeat(offset % 9);
    }
    await write(session, entries, at(offset));
    for (const [key, value] of Object.entries(entries)) {
      if (value === undefined) state.delete(key);
      else state.set(key, value);
    }
    history.set(offset, new Map(state));
  }
  await store.close();
  return history;
}

function segmentsOf(directory: string): string[] {
  const folder = join(directory, 'shop', 'orders', '0.3');
  return readdirSync(folder)
    .filter((name) => name.endsWith('.log'))
    .sort()
    .map((name) => join(folder, name));
}

/** Rule 4: what stands under a mark is the state at that mark, and without a mark there is nothing. */
function expectOneOf(stand: Stand, history: Map<number, Map<string, string>>): void {
  const expected = stand.mark === undefined ? new Map() : history.get(stand.mark.offset);
  expect(stand.entries).toEqual(expected);
}

test('rule 2: a log that breaks off at any byte gives the state after a whole batch', async () => {
  const whole = join(root, 'whole');
  const history = await fill(whole, 4, {});
  const [segment = ''] = segmentsOf(whole);
  expect(segmentsOf(whole).length).toBe(1);
  const marks = new Set<number | undefined>();
  for (let size = 0; size <= statSync(segment).size; size++) {
    const cut = join(root, `cut-${size}`);
    cpSync(whole, cut, { recursive: true });
    truncateSync(segmentsOf(cut)[0] ?? '', size);
    const stand = await standOf(cut);
    expectOneOf(stand, history);
    marks.add(stand.mark?.offset);
    rmSync(cut, { recursive: true });
  }
  expect([...marks]).toEqual([undefined, 1, 2, 3, 4]);
});

test.each([
  ['that was cleaned', tiny, 0],
  ['that only grew', { ...tiny, segmentBytesMin: 100_000 }, 60],
])(
  'rule 2: any damage to a log %s gives the state at some mark, or none at all',
  async (_name, sizes, survivalsMin) => {
    const whole = join(root, 'whole');
    const history = await fill(whole, 120, sizes);
    const files = segmentsOf(whole);
    expect(files.length).toBeGreaterThan(3);
    // Cleaning moves entries and removes segments.
    expect(files[0]?.endsWith('0000000001.log')).toBe(sizes !== tiny);
    const undamaged = await (async () => {
      const copy = join(root, 'undamaged');
      cpSync(whole, copy, { recursive: true });
      return standOf(copy);
    })();
    expect(undamaged).toEqual({ mark: at(120), entries: history.get(120) });
    const place = fc.noBias(fc.integer({ min: 0, max: 999 })).map((mille) => mille / 1_000);
    const damage = fc.record({
      kind: fc.constantFrom('remove', 'cut', 'flip', 'zero', 'empty', 'append'),
      file: place,
      position: place,
      bit: fc.integer({ min: 0, max: 7 }),
    });
    let run = 0;
    let survivals = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(damage, { minLength: 1, maxLength: 2 }), async (damages) => {
        const copy = join(root, `copy-${run++}`);
        cpSync(whole, copy, { recursive: true });
        for (const { kind, file, position, bit } of damages) {
          const paths = segmentsOf(copy);
          const path = paths[Math.floor(file * paths.length)];
          if (path === undefined) continue;
          const bytes = readFileSync(path);
          const byte = Math.floor(position * bytes.length);
          if (kind === 'remove') rmSync(path);
          else if (kind === 'cut') truncateSync(path, byte);
          else if (kind === 'empty') truncateSync(path, 0);
          else if (kind === 'append') writeFileSync(path, Buffer.concat([bytes, bytes]));
          else if (kind === 'zero') writeFileSync(path, bytes.fill(0, byte));
          else if (byte < bytes.length) {
            bytes[byte] = (bytes[byte] ?? 0) ^ (1 << bit);
            writeFileSync(path, bytes);
          }
        }
        const stand = await standOf(copy);
        expectOneOf(stand, history);
        if (stand.mark !== undefined) survivals++;
        // Whatever was kept can be worked on, and opened again.
        const store = await open(copy);
        const session = await store.open(task, 2_000);
        if (stand.mark === undefined) await session.clear();
        for (let offset = 481; offset <= 500; offset++) {
          await write(session, { after: `${offset}`.repeat(20) }, at(offset));
        }
        await store.close();
        const again = await standOf(copy, 3_000);
        expect(again.mark).toEqual(at(500));
        expect(again.entries).toEqual(new Map([...stand.entries, ['after', '500'.repeat(20)]]));
        rmSync(copy, { recursive: true });
      }),
      { numRuns: 250 },
    );
    expect(survivals).toBeGreaterThanOrEqual(survivalsMin);
  },
);

function textOf(entries: Map<string, string>): string {
  return [...entries].sort().join(' ');
}

test('rule 2: a log whose end belongs to another history breaks off where that begins', async () => {
  const [ours, others] = [join(root, 'ours'), join(root, 'others')];
  const states: Map<string, string>[] = [];
  for (const [directory, text] of [
    [ours, 'a'],
    [others, 'b'],
  ] as const) {
    const store = await open(directory, {});
    const session = await store.open(task, 1);
    const state = new Map<string, string>();
    for (let offset = 1; offset <= 4; offset++) {
      await write(session, { [`k${offset}`]: text }, at(offset));
      states.push(new Map(state.set(`k${offset}`, text)));
    }
    await store.close();
  }
  const [ourBytes, otherBytes] = [ours, others].map((each) =>
    readFileSync(segmentsOf(each)[0] ?? ''),
  );
  if (ourBytes === undefined || otherBytes === undefined) throw new Error('two logs were written');
  expect(ourBytes.length).toBe(otherBytes.length);
  const spliced = join(root, 'spliced');
  const offsets = new Set<number | undefined>();
  for (let byte = 0; byte <= ourBytes.length; byte++) {
    cpSync(ours, spliced, { recursive: true });
    const bytes = Buffer.concat([ourBytes.subarray(0, byte), otherBytes.subarray(byte)]);
    writeFileSync(segmentsOf(spliced)[0] ?? '', bytes);
    const stand = await standOf(spliced);
    expect(['', ...states.map(textOf)]).toContain(textOf(stand.entries));
    offsets.add(stand.mark?.offset);
    rmSync(spliced, { recursive: true });
  }
  expect(offsets).toEqual(new Set([4, undefined, 1, 2, 3]));
});

test('a segment that was left behind before a gap is not needed, and goes', async () => {
  const live = join(root, 'live');
  await fill(live, 3);
  const [first = ''] = segmentsOf(live);
  const content = readFileSync(first);
  rmSync(live, { recursive: true });
  const history = await fill(live, 120);
  expect(segmentsOf(live)[0]?.endsWith('0000000001.log')).toBe(false);
  writeFileSync(first, content);
  expect(await standOf(live)).toEqual({ mark: at(120), entries: history.get(120) });
  expect(segmentsOf(live)).not.toContain(first);
});

test('P101 an older copy of the directory is told by its mark', async () => {
  const live = join(root, 'live');
  const history = await fill(live, 30);
  const copy = join(root, 'copy');
  cpSync(live, copy, { recursive: true });
  const store = await open(live);
  const session = await store.open(task, 2);
  await write(session, { newer: '1' }, at(31));
  await store.close();
  rmSync(live, { recursive: true });
  cpSync(copy, live, { recursive: true });
  expect(await standOf(live)).toEqual({ mark: at(30), entries: history.get(30) });
});

test('P099 a directory that was emptied has no mark', async () => {
  const live = join(root, 'live');
  await fill(live, 30);
  rmSync(join(live, 'shop'), { recursive: true });
  expect(await standOf(live)).toEqual({ mark: undefined, entries: new Map() });
});
