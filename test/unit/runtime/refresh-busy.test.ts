import { expect, test } from 'vitest';
import { MemoryStateStore } from '../../../src/adapters/memory/memory-state-store.ts';
import { systemClock } from '../../../src/adapters/system/system-clock.ts';
import { refreshBeside } from '../../../src/runtime/refresh/refresh-beside.ts';
import { Random } from '../../../src/testing/random.ts';
import { RefreshWorld, tableText } from '../../support/refresh-world.ts';

const partitions = 2;
const keyCount = 20;
const rounds = 3;

function sqlOf(options: string, distinct: string): string {
  return `CREATE STREAMING TABLE t ${options} FLOW REPLACE USING (k) SEQUENCE BY seq BY NAME SELECT ${distinct} k, seq, v FROM STREAM(a);`;
}

/** The rows of the highest sequence of each key, with DISTINCT each once. */
function reference(world: RefreshWorld, isDistinct: boolean): readonly string[] {
  const highest = new Map<string, number>();
  for (const { k, seq } of world.produced) highest.set(k, Math.max(seq, highest.get(k) ?? 0));
  const rows = world.produced
    .filter(({ k, seq }) => highest.get(k) === seq)
    .map(({ k, seq, v }) => JSON.stringify({ k, seq, v }));
  return [...(isDistinct ? new Set(rows) : rows)].sort();
}

/** Ties of few values, on all partitions, so that the order in which they come is seldom that in which they are read again. */
async function produceUntil(world: RefreshWorld, random: Random, isOver: () => boolean) {
  for (let batch = 0; !isOver(); batch += 1) {
    for (let partition = 0; partition < partitions; partition += 1) {
      const rows = Array.from({ length: 3 }, () => ({
        k: `K${random.below(keyCount)}`,
        seq: Math.floor(batch / 40) - random.below(2) + 1,
        v: 'abcdefgh'[random.below(8)] ?? '',
      }));
      await world.produce('a', partition, ...rows);
    }
    await systemClock.sleep(2);
  }
}

test.each([
  ['', ''],
  ['', 'DISTINCT'],
  ["WITH (output = 'rows')", ''],
  ["WITH (output = 'rows')", 'DISTINCT'],
])(
  'FR-34 a refresh beside a table %s that ties come into all the while: SELECT %s loses no row, with its state or without',
  async (options, distinct) => {
    const world = new RefreshWorld(sqlOf(options, distinct), ['a'], partitions);
    const random = new Random(11);
    const service = await world.service();
    let isOver = false;
    const producing = produceUntil(world, random, () => isOver);
    for (let round = 0; round < rounds; round += 1) {
      await systemClock.sleep(100);
      await refreshBeside({ ...(await world.besideOptions('t')), waitMs: 20_000 });
    }
    isOver = true;
    await producing;
    await service.stop();
    await world.update();
    const rows = async () => [...tableText(await world.table('t'))].sort();
    expect(await rows()).toEqual(reference(world, distinct !== ''));
    // What stands in the topic is all that the next one knows.
    world.state = new MemoryStateStore();
    const [first] = world.produced.slice(-1);
    const seq = (first?.seq ?? 0) + 1;
    for (const partition of [1, 0, 1]) {
      await world.produce('a', partition, { k: 'K1', seq, v: 'x' }, { k: 'K1', seq, v: 'y' });
      await world.update();
    }
    for (let key = 0; key < keyCount; key += 1) {
      const newest = reference(world, true).find((text) => text.includes(`"K${key}"`)) ?? '{}';
      const known = JSON.parse(newest) as { seq?: number };
      await world.produce('a', key % 2, { k: `K${key}`, seq: known.seq ?? 1, v: 'late' });
    }
    await world.update();
    expect(await rows()).toEqual(reference(world, distinct !== ''));
  },
);
