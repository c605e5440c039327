import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { ErrorCode } from '../../src/base/errors.ts';
import type {
  StateKey,
  StateMark,
  StateSession,
  StateStore,
  StateTaskId,
} from '../../src/ports/state-store.ts';
import { packedEntries } from './packed-entries.ts';

/** A place in which state is kept, and what can befall it from outside. */
export type StateStoreHarness = {
  /** Opens the store; it is closed by the suite. */
  open(): Promise<StateStore>;
  /** What may be done to the state while sessions are open; absent where nobody but the store reaches it. */
  readonly faults?: {
    flush(): Promise<void>;
    /** Takes an image of a task's state, and gives the way back to it. */
    image(task: StateTaskId): Promise<() => Promise<void>>;
  };
  /** False for a store that lives no longer than its object. */
  readonly survivesClose: boolean;
  stop(): Promise<void>;
};

export const task: StateTaskId = { pipeline: 'shop', flow: 'orders', generation: 0, partition: 3 };

export function at(offset: number, topicId = 'topic-1'): StateMark {
  return { topicId, offset };
}

export function bytes(text: string): Buffer {
  return Buffer.from(text, 'latin1');
}

export function numbered(count: number, text: (index: number) => string): string[] {
  return Array.from({ length: count }, (_, index) => text(index));
}

export async function write(
  session: StateSession,
  entries: Readonly<Record<StateKey, string | undefined>>,
  mark: StateMark,
): Promise<void> {
  const values = Object.values(entries);
  await session.write({
    entries: packedEntries(
      Object.keys(entries),
      values.map((value) => (value === undefined ? undefined : bytes(value))),
    ),
    mark,
  });
}

/** Mark and values as texts, which read better in a failure than buffers. */
export async function read(
  session: StateSession,
  keys: readonly StateKey[],
): Promise<{ mark: StateMark | undefined; values: (string | undefined)[] }> {
  const view = await session.read(keys);
  return { mark: view.mark, values: view.entries.map((entry) => entry?.toString('latin1')) };
}

export async function everything(session: StateSession): Promise<Map<StateKey, string>> {
  const found = new Map<StateKey, string>();
  for await (const piece of session.scan()) {
    for (const [key, entry] of piece) found.set(key, entry.toString('latin1'));
  }
  return found;
}

export async function expectCode(attempt: Promise<unknown>, code: ErrorCode): Promise<void> {
  await expect(attempt).rejects.toMatchObject({ name: 'FlowError', code });
}

const flushedReads = 20;

/** The contract of `ports/state-store.ts`, which every store must keep. */
export function describeStateStore(
  name: string,
  createHarness: () => Promise<StateStoreHarness>,
  traits: { readonly hasFaults: boolean; readonly survivesClose: boolean },
): void {
  describe(`state store contract: ${name}`, () => {
    let harness: StateStoreHarness;
    let store: StateStore;

    beforeEach(async () => {
      harness = await createHarness();
      store = await harness.open();
    });

    afterEach(async () => {
      await store.close();
      await harness.stop();
    });

    function faults(): NonNullable<StateStoreHarness['faults']> {
      if (harness.faults === undefined) throw new Error('this store has no faults from outside');
      return harness.faults;
    }

    test('it passes its own check of settings', async () => {
      await expect(store.check()).resolves.toBeUndefined();
    });

    test('keys are counted without mark and epoch, and usage is told', async () => {
      const session = await store.open(task, 1);
      expect(await session.keyCount()).toBe(0);
      await write(session, { a: '1', b: '2', '\u0000e': '3' }, at(1));
      expect(await session.keyCount()).toBe(3);
      await write(session, { a: undefined, c: '4', d: '5' }, at(2));
      expect(await session.keyCount()).toBe(4);
      const { usedBytes, limitBytes, evictedKeys } = await store.usage();
      expect(usedBytes).toBeGreaterThan(0);
      expect([limitBytes >= 0, evictedKeys >= 0]).toEqual([true, true]);
      await session.clear();
      expect(await session.keyCount()).toBe(0);
    });

    test('rule 1: a higher epoch takes over, a lower one is turned away', async () => {
      const first = await store.open(task, 5);
      await write(first, { a: '1' }, at(1));
      await expectCode(store.open(task, 4), 'TASK_MIGRATED');
      const again = await store.open(task, 5);
      expect(await again.mark()).toEqual(at(1));
      const second = await store.open(task, 6);
      expect(await read(second, ['a'])).toEqual({ mark: at(1), values: ['1'] });
      await expect(store.open(task, 5)).rejects.toMatchObject({
        code: 'TASK_MIGRATED',
        standingEpoch: 6,
      });
      await expect(store.forget(task, 5)).rejects.toMatchObject({ standingEpoch: 6 });
    });

    test('rule 1: epochs are compared as numbers, up to 2^53', async () => {
      await store.open(task, 9);
      await store.open(task, 10);
      await expectCode(store.open(task, 9), 'TASK_MIGRATED');
      await store.open(task, 2 ** 53 - 2);
      await store.open(task, 2 ** 53 - 1);
      await expectCode(store.open(task, 2 ** 53 - 2), 'TASK_MIGRATED');
    });

    test('rule 2: a session that was taken over can neither write nor clear', async () => {
      const zombie = await store.open(task, 1);
      await write(zombie, { a: 'old' }, at(1));
      const owner = await store.open(task, 2);
      await write(owner, { a: 'new' }, at(2));
      await zombie.mark();
      await expectCode(write(zombie, { a: 'late', b: 'late' }, at(3)), 'TASK_CORRUPTED');
      await expectCode(write(zombie, { a: 'late' }, at(2)), 'TASK_CORRUPTED');
      await expectCode(zombie.clear(), 'TASK_CORRUPTED');
      await expectCode(everything(zombie), 'TASK_CORRUPTED');
      expect(await read(owner, ['a', 'b'])).toEqual({ mark: at(2), values: ['new', undefined] });
      await write(owner, { b: '3' }, at(3));
      expect(await read(owner, ['a', 'b'])).toEqual({ mark: at(3), values: ['new', '3'] });
    });

    test('rule 3: a new task has no mark and no keys, and a read without keys tells the mark', async () => {
      const session = await store.open(task, 1);
      expect(await session.mark()).toBeUndefined();
      expect(await read(session, [])).toEqual({ mark: undefined, values: [] });
      expect(await read(session, ['a', ''])).toEqual({
        mark: undefined,
        values: [undefined, undefined],
      });
      await write(session, {}, at(0));
      expect(await read(session, [])).toEqual({ mark: at(0), values: [] });
    });

    test('rule 3: entries come by position, a key that is asked for twice comes twice', async () => {
      const session = await store.open(task, 1);
      await write(session, { a: '1', b: '2' }, at(7));
      expect(await read(session, ['b', 'x', 'a', 'b'])).toEqual({
        mark: at(7),
        values: ['2', undefined, '1', '2'],
      });
    });

    test('rule 4: offsets above 2^32 and any topic id come back exactly', async () => {
      const session = await store.open(task, 1);
      for (const mark of [at(2 ** 53 - 1, 'a:b>c#d e'), at(0, ''), at(12, 'ÿ\n☃')]) {
        await write(session, { k: '1' }, mark);
        expect(await session.mark()).toEqual(mark);
      }
    });

    test('rule 4: how far the levels are in the state is a part of the mark', async () => {
      const session = await store.open(task, 1);
      const both = (offset: number, levels: number): StateMark => ({
        ...at(offset, 'a:b'),
        levels: at(levels, 'c:d e'),
      });
      for (const mark of [both(3, 0), both(3, 2 ** 53 - 1), at(3, 'a:b'), both(0, 7)]) {
        await write(session, { k: '1' }, mark);
        expect(await read(session, ['k'])).toEqual({ mark, values: ['1'] });
      }
      const twin = await store.open(task, 1);
      expect(await twin.mark()).toEqual(both(0, 7));
      await write(session, { k: '2' }, both(0, 8));
      await expectCode(write(twin, { k: '3' }, both(1, 7)), 'TASK_CORRUPTED');
      expect(await read(session, ['k'])).toEqual({ mark: both(0, 8), values: ['2'] });
    });

    test('rule 4: the same offset of a recreated topic is another mark', async () => {
      const session = await store.open(task, 1);
      const twin = await store.open(task, 1);
      await write(session, { k: '1' }, at(5, 'old'));
      await twin.mark();
      await write(session, { k: '2' }, at(5, 'new'));
      await expectCode(write(twin, { k: '3' }, at(6, 'old')), 'TASK_CORRUPTED');
      expect(await read(session, ['k'])).toEqual({ mark: at(5, 'new'), values: ['2'] });
    });

    test('rule 7: a write from a mark that the store has left is refused', async () => {
      const session = await store.open(task, 1);
      const twin = await store.open(task, 1);
      await write(session, { a: '1' }, at(1));
      await expectCode(write(twin, { a: '2' }, at(2)), 'TASK_CORRUPTED');
      expect(await twin.mark()).toEqual(at(1));
      await write(twin, { a: '2' }, at(2));
      expect(await read(session, ['a'])).toEqual({ mark: at(2), values: ['2'] });
      await write(session, { a: '3' }, at(3));
    });

    test('rule 7: a write may add entries under the mark that stands', async () => {
      const session = await store.open(task, 1);
      await write(session, { a: '1' }, at(4));
      await write(session, { b: '2' }, at(4));
      expect(await read(session, ['a', 'b'])).toEqual({ mark: at(4), values: ['1', '2'] });
      const next = await store.open(task, 2);
      expect(await read(next, ['a', 'b'])).toEqual({ mark: at(4), values: ['1', '2'] });
    });

    test('rule 6: a write may be repeated, since it may have arrived', async () => {
      const session = await store.open(task, 1);
      const twin = await store.open(task, 1);
      await write(session, { a: '1', b: '1' }, at(1));
      await write(twin, { a: '1', b: '1' }, at(1));
      expect(await read(twin, ['a', 'b'])).toEqual({ mark: at(1), values: ['1', '1'] });
    });

    test('clear removes entries and mark and keeps the epoch', async () => {
      const session = await store.open(task, 5);
      await write(session, { a: '1', b: '2' }, at(1));
      await session.clear();
      expect(await read(session, ['a', 'b'])).toEqual({
        mark: undefined,
        values: [undefined, undefined],
      });
      expect(await everything(session)).toEqual(new Map());
      await expectCode(store.open(task, 4), 'TASK_MIGRATED');
      await write(session, { b: '3' }, at(9));
      expect(await read(session, ['a', 'b'])).toEqual({ mark: at(9), values: [undefined, '3'] });
      await session.clear();
      await session.clear();
      expect(await session.mark()).toBeUndefined();
    });

    test('a task that is forgotten is as one that never was', async () => {
      const former = await store.open(task, 5);
      await write(former, { a: '1', b: '2' }, at(1));
      await former.close();
      await expectCode(store.forget(task, 4), 'TASK_MIGRATED');
      await store.forget(task, 6);
      const fresh = await store.open(task, 1);
      expect(await read(fresh, ['a', 'b'])).toEqual({
        mark: undefined,
        values: [undefined, undefined],
      });
      await write(fresh, { b: '3' }, at(9));
      expect(await everything(fresh)).toEqual(new Map([['b', '3']]));
      // Nor does one that never was come into being by it.
      await store.forget({ ...task, generation: 9 }, 1);
      expect(await (await store.open({ ...task, generation: 9 }, 1)).mark()).toBeUndefined();
    });

    test('entries are replaced and deleted, and an empty entry is not a missing one', async () => {
      const session = await store.open(task, 1);
      await write(session, { a: '1', b: '', c: 'long'.repeat(5_000), d: '4' }, at(1));
      await write(session, { b: 'now', d: undefined, never: undefined, e: '' }, at(2));
      const keys = ['a', 'b', 'c', 'd', 'never', 'e'];
      expect(await read(session, keys)).toEqual({
        mark: at(2),
        values: ['1', 'now', 'long'.repeat(5_000), undefined, undefined, ''],
      });
      await write(session, { a: undefined, c: 'short' }, at(3));
      await write(session, { a: 'again', d: 'again' }, at(4));
      expect(await everything(session)).toEqual(
        new Map([
          ['a', 'again'],
          ['b', 'now'],
          ['c', 'short'],
          ['d', 'again'],
          ['e', ''],
        ]),
      );
    });

    test('keys are any bytes, and none collides with what the store keeps beside them', async () => {
      const singles = numbered(256, (byte) => String.fromCharCode(byte));
      const keys = [
        '',
        ...singles,
        ...singles.map((byte) => `\0${byte}`),
        ...singles.map((byte) => `\0\0${byte}`),
        singles.join(''),
        'epoch',
        'mark',
        'x'.repeat(70_000),
        'x'.repeat(70_001),
      ];
      const session = await store.open(task, 1);
      const entries = keys.map((key) => bytes(`value of ${key}`));
      await session.write({ entries: packedEntries(keys, entries), mark: at(1) });
      expect(await session.read(keys)).toEqual({ mark: at(1), entries });
      const found = await everything(session);
      expect(found).toEqual(new Map(keys.map((key) => [key, `value of ${key}`])));
      await session.write({
        entries: packedEntries(
          keys,
          keys.map(() => undefined),
        ),
        mark: at(2),
      });
      expect(await session.read(keys)).toEqual({ mark: at(2), entries: keys.map(() => undefined) });
      expect(await everything(session)).toEqual(new Map());
    });

    test('entries are any bytes', async () => {
      const session = await store.open(task, 1);
      const entry = Buffer.from(
        numbered(256, (byte) => String.fromCharCode(byte)).join(''),
        'latin1',
      );
      await session.write({ entries: packedEntries(['k'], [entry]), mark: at(1) });
      expect((await session.read(['k'])).entries).toEqual([entry]);
    });

    test('tasks are kept apart, also those whose names look alike', async () => {
      const tasks: StateTaskId[] = [
        task,
        { ...task, partition: 4 },
        { ...task, generation: 1 },
        { ...task, pipeline: 'a.b', flow: 'c' },
        { ...task, pipeline: 'a', flow: 'b.c' },
        { ...task, pipeline: 'a}', flow: '{b' },
        { ...task, pipeline: 'größe', flow: '..' },
        { ...task, pipeline: 'a/b', flow: 'ORDERS' },
        { ...task, pipeline: '', flow: '%' },
      ];
      const sessions = await Promise.all(tasks.map((each) => store.open(each, 1)));
      for (const [index, session] of sessions.entries()) {
        await write(session, { k: `${index}`, [`own${index}`]: '' }, at(index));
      }
      for (const [index, session] of sessions.entries()) {
        expect(await read(session, ['k'])).toEqual({ mark: at(index), values: [`${index}`] });
        expect((await everything(session)).size).toBe(2);
      }
      await sessions[0]?.clear();
      expect(await sessions[1]?.mark()).toEqual(at(1));
    });

    test('a write of 100,000 keys is whole, and so is a read of them', async () => {
      const keys = numbered(100_000, (index) => `key-${index}`);
      const session = await store.open(task, 1);
      const entries = keys.map((_, index) => bytes(`value ${index}`));
      await session.write({ entries: packedEntries(keys, entries), mark: at(100_000) });
      const view = await session.read([...keys, 'missing']);
      expect(view.mark).toEqual(at(100_000));
      expect(view.entries.length).toBe(100_001);
      expect(
        view.entries.findIndex((entry, index) => !entry?.equals(bytes(`value ${index}`))),
      ).toBe(100_000);
      const half = keys.filter((_, index) => index % 2 === 0);
      await session.write({
        entries: packedEntries(
          keys,
          keys.map((_, index) => (index % 2 === 0 ? bytes('even') : undefined)),
        ),
        mark: at(200_000),
      });
      expect(await everything(session)).toEqual(new Map(half.map((key) => [key, 'even'])));
    });

    test('commands of one session that are not waited for take effect in their order', async () => {
      const session = await store.open(task, 1);
      const keys = numbered(3_000, (index) => `k${index}`);
      const steps: Promise<unknown>[] = [];
      const views: Promise<string>[] = [];
      for (let step = 1; step <= 10; step++) {
        const entries = keys.map(() => bytes(`${step}`));
        steps.push(session.write({ entries: packedEntries(keys, entries), mark: at(step) }));
        views.push(
          session.read(keys).then((view) => {
            return `${view.mark?.offset} ${[...new Set(view.entries.map(String))].join()}`;
          }),
        );
      }
      await Promise.all(steps);
      expect(await Promise.all(views)).toEqual(numbered(10, (step) => `${step + 1} ${step + 1}`));
    });

    test('a session may be closed, and the task opened again', async () => {
      const session = await store.open(task, 1);
      await write(session, { a: '1' }, at(1));
      await session.close();
      const next = await store.open(task, 2);
      expect(await read(next, ['a'])).toEqual({ mark: at(1), values: ['1'] });
    });

    test('any sequence of writes, deletes, clears and takeovers equals a map', async () => {
      const key = fc.constantFrom('', '\0', '\0e', 'a', 'b', 'c', 'ÿþ', 'long'.repeat(30));
      const value = fc.option(fc.string({ unit: 'binary-ascii', maxLength: 40 }), {
        nil: undefined,
      });
      const step = fc.oneof(
        { weight: 8, arbitrary: fc.array(fc.tuple(key, value), { maxLength: 6 }) },
        { weight: 1, arbitrary: fc.constantFrom('clear' as const, 'takeover' as const) },
        { weight: 1, arbitrary: fc.constant('reopen' as const) },
      );
      let run = 0;
      await fc.assert(
        fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
          const own: StateTaskId = { ...task, partition: 1_000 + run++ };
          const model = new Map<string, string>();
          let epoch = 1;
          let offset = 0;
          let isMarked = false;
          let session = await store.open(own, epoch);
          for (const each of steps) {
            if (each === 'takeover') {
              session = await store.open(own, ++epoch);
            } else if (each === 'clear') {
              await session.clear();
              model.clear();
              isMarked = false;
            } else if (each === 'reopen') {
              await session.close();
              if (harness.survivesClose) {
                await store.close();
                store = await harness.open();
              }
              session = await store.open(own, epoch);
            } else {
              await write(session, Object.fromEntries(each), at(++offset));
              isMarked = true;
              for (const [name, entry] of Object.entries(Object.fromEntries(each))) {
                if (entry === undefined) model.delete(name);
                else model.set(name, entry);
              }
            }
            const keys = ['', '\0', '\0e', 'a', 'b', 'c', 'ÿþ', 'long'.repeat(30)];
            expect(await read(session, keys)).toEqual({
              mark: isMarked ? at(offset) : undefined,
              values: keys.map((name) => model.get(name)),
            });
          }
          expect(await everything(session)).toEqual(model);
          await session.close();
        }),
        { numRuns: 60 },
      );
    });

    if (traits.survivesClose) {
      test('epoch, mark and entries outlive the process', async () => {
        const session = await store.open(task, 7);
        await write(session, { a: '1', b: '2' }, at(3));
        await store.close();
        store = await harness.open();
        await expectCode(store.open(task, 6), 'TASK_MIGRATED');
        const next = await store.open(task, 8);
        expect(await read(next, ['a', 'b'])).toEqual({ mark: at(3), values: ['1', '2'] });
      });

      test('a closed store answers STATE_UNAVAILABLE', async () => {
        const session = await store.open(task, 1);
        await store.close();
        await expectCode(session.read(['a']), 'STATE_UNAVAILABLE');
        await expectCode(write(session, { a: '1' }, at(1)), 'STATE_UNAVAILABLE');
        await expectCode(store.open(task, 2), 'STATE_UNAVAILABLE');
      });
    }

    if (traits.hasFaults) {
      test('P099 a store that was flushed between open and write takes no write', async () => {
        const session = await store.open(task, 1);
        await write(session, { a: '1' }, at(1));
        await faults().flush();
        await expectCode(write(session, { b: '2' }, at(2)), 'TASK_CORRUPTED');
        await expectCode(session.clear(), 'TASK_CORRUPTED');
        expect(await read(session, ['a', 'b'])).toEqual({
          mark: undefined,
          values: [undefined, undefined],
        });
        await expectCode(everything(session), 'TASK_CORRUPTED');
        const again = await store.open(task, 1);
        await write(again, { a: '1', b: '2' }, at(2));
        expect(await read(again, ['a', 'b'])).toEqual({ mark: at(2), values: ['1', '2'] });
      });

      test('P099 a flushed store that a zombie opens again refuses the owner, who then takes it back', async () => {
        const zombie = await store.open(task, 1);
        const owner = await store.open(task, 2);
        await faults().flush();
        const risen = await store.open(task, 1);
        await write(risen, { a: 'old' }, at(1));
        await expectCode(write(owner, { a: 'new' }, at(2)), 'TASK_CORRUPTED');
        const back = await store.open(task, 2);
        await expectCode(write(zombie, { a: 'old' }, at(1)), 'TASK_CORRUPTED');
        await expectCode(write(risen, { a: 'old' }, at(1)), 'TASK_CORRUPTED');
        await back.clear();
        await write(back, { a: 'new' }, at(2));
        expect(await read(back, ['a'])).toEqual({ mark: at(2), values: ['new'] });
      });

      test('P101 an older image is told by its mark, and takes no write that skips a part', async () => {
        const session = await store.open(task, 1);
        await write(session, { a: '1' }, at(1));
        const back = await faults().image(task);
        await write(session, { b: '2' }, at(2));
        await back();
        await expectCode(write(session, { c: '3' }, at(3)), 'TASK_CORRUPTED');
        expect(await read(session, ['a', 'b', 'c'])).toEqual({
          mark: at(1),
          values: ['1', undefined, undefined],
        });
        // Having seen where it stands, the session may bring it up to date.
        await write(session, { b: '2', c: '3' }, at(3));
        expect(await read(session, ['a', 'b', 'c'])).toEqual({
          mark: at(3),
          values: ['1', '2', '3'],
        });
      });

      test('P101 an image from before the takeover takes no write of the new owner', async () => {
        const first = await store.open(task, 1);
        await write(first, { a: '1' }, at(1));
        const back = await faults().image(task);
        const owner = await store.open(task, 2);
        await back();
        expect(await owner.mark()).toEqual(at(1));
        await expectCode(write(owner, { b: '2' }, at(2)), 'TASK_CORRUPTED');
      });

      test('P101 an older image without any entries is filled again from the beginning', async () => {
        const session = await store.open(task, 1);
        await session.clear();
        const back = await faults().image(task);
        await write(session, { a: '1' }, at(1));
        await back();
        expect(await session.mark()).toBeUndefined();
        await write(session, { b: '1' }, at(2));
        expect(await everything(session)).toEqual(new Map([['b', '1']]));
      });

      test('P099 a flush in the middle of a read gives all, nothing, or TASK_CORRUPTED', async () => {
        const keys = numbered(20_000, (index) => `k${index}`);
        const entries = keys.map((key) => bytes(key));
        for (let run = 0; run < flushedReads; run++) {
          const session = await store.open(task, run + 1);
          await session.clear();
          await session.write({ entries: packedEntries(keys, entries), mark: at(1) });
          const outcome = session.read(keys).then(
            (view) => ({ mark: view.mark, missing: view.entries.filter((e) => !e).length }),
            (error: { code: string }) => error.code,
          );
          await Promise.all([outcome, faults().flush()]);
          expect([
            { mark: at(1), missing: 0 },
            { mark: undefined, missing: keys.length },
            'TASK_CORRUPTED',
          ]).toContainEqual(await outcome);
        }
      });
    }
  });
}
