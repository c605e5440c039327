import { describe, expect, test } from 'vitest';
import { systemClock } from '../../../src/adapters/system/system-clock.ts';
import { InterruptedRefreshes } from '../../../src/cli/interrupted-refreshes.ts';
import type { VerbOutcome } from '../../../src/cli/verb-process.ts';
import type { Clock } from '../../../src/ports/clock.ts';
import { refreshBeside } from '../../../src/runtime/refresh/refresh-beside.ts';
import { refreshInPlace } from '../../../src/runtime/refresh/refresh-in-place.ts';
import { refreshesOf } from '../../../src/runtime/refresh/refresh-record.ts';
import type { Catalog } from '../../../src/runtime/topics/catalog.ts';
import { lockFlows } from '../../../src/runtime/topics/locks.ts';
import { FailingLog } from '../../support/failing-log.ts';
import { RefreshWorld, type SourceRow, tableText } from '../../support/refresh-world.ts';

const sql = `CREATE STREAMING TABLE t
FLOW REPLACE USING (k) SEQUENCE BY seq BY NAME SELECT k, seq, v FROM STREAM(a);`;

const row = (k: string): SourceRow => ({ k, seq: 1, v: 'x' });

type Refresh = typeof refreshBeside;

/** One row of three has expired. The refresh dies at a call to the log, or lives. */
async function attempt(refresh: Refresh, callsMax: number) {
  const world = new RefreshWorld(sql, ['a'], 1);
  await world.produce('a', 0, row('R1'), row('R2'), row('R3'));
  await world.update();
  await world.log.deleteRecords('a', new Map([[0, 1]]));
  const client = world.log.connect();
  const failing = new FailingLog(client, callsMax, true);
  const options = await world.besideOptions('t', { allowLoss: true }, failing.log);
  await refresh(options).catch(() => undefined);
  client.kill();
  const { catalog } = await world.outside();
  const state = String(catalog.get('refresh', 't')?.value['state'] ?? 'none');
  return { world, calls: failing.calls, state };
}

/** In the order in which a refresh goes through them; one of each kind. */
const states = ['none', 'building', 'swapping', 'emptying', 'switching', 'done'];

/** A refresh whose command was killed in the given state: the later it dies, the later the state. */
async function interrupted(refresh: Refresh, state: string): Promise<RefreshWorld> {
  let [low, high] = [0, (await attempt(refresh, Number.POSITIVE_INFINITY)).calls];
  while (low < high) {
    const callsMax = Math.floor((low + high) / 2);
    const found = await attempt(refresh, callsMax);
    if (found.state === state) return found.world;
    if (states.indexOf(found.state) < states.indexOf(state)) low = callsMax + 1;
    else high = callsMax;
  }
  throw new Error(`no refresh was interrupted at ${state}`);
}

/** Time on the wall that goes on by itself and can be put forward. */
class WallClock implements Clock {
  aheadMs = 0;

  now(): number {
    return systemClock.now() + this.aheadMs;
  }

  monotonic(): number {
    return systemClock.monotonic();
  }

  sleep(ms: number): Promise<void> {
    return systemClock.sleep(ms);
  }
}

const done: VerbOutcome = { exitCode: 0, out: '{}', error: undefined };

class Instance {
  readonly clock = new WallClock();
  readonly started: string[] = [];
  readonly #world: RefreshWorld;
  readonly #catalog: Catalog;
  readonly #finishing: InterruptedRefreshes;

  constructor(world: RefreshWorld, catalog: Catalog, instance: string, refresh: Refresh) {
    this.#world = world;
    this.#catalog = catalog;
    this.#finishing = new InterruptedRefreshes({
      catalog,
      clock: this.clock,
      plan: world.plan,
      instance,
      say: () => undefined,
      start: (args) => {
        this.started.push(args.join(' '));
        const ended = (async () => {
          await refresh(await world.besideOptions('t'));
          return done;
        })();
        return { ended, stop: () => undefined };
      },
    });
  }

  static async of(world: RefreshWorld, refresh: Refresh, name = 'one'): Promise<Instance> {
    const { catalog } = await world.outside();
    return new Instance(world, catalog, name, refresh);
  }

  async look(): Promise<void> {
    await this.#catalog.read();
    await this.#finishing.look(refreshesOf(this.#catalog));
  }

  async rows(): Promise<string[]> {
    return tableText(await this.#world.table('t'));
  }
}

describe('FR-34 a refresh whose command was killed while it replaced records', () => {
  test.each([
    [refreshBeside, 'swapping', 'refresh t --yes'],
    [refreshBeside, 'switching', 'refresh t --yes'],
    [refreshInPlace, 'emptying', 'refresh t --yes --in-place'],
  ] as const)('is finished by an instance: %o, %s', async (refresh, state, command) => {
    const world = await interrupted(refresh, state);
    await expect(world.update()).rejects.toMatchObject({ code: 'TABLE_LOCKED' });
    const instance = await Instance.of(world, refresh);
    await instance.look();
    expect(instance.started).toEqual([]);
    instance.clock.aheadMs = 61_000;
    await instance.look();
    await instance.look();
    expect(instance.started).toEqual([command]);
    await world.update();
    expect(await instance.rows()).toHaveLength(2);
    const { catalog } = await world.outside();
    expect(catalog.all('lock')).toEqual([]);
  });

  test('by one instance only', async () => {
    const world = await interrupted(refreshBeside, 'swapping');
    const { catalog } = await world.outside();
    const claim = { flow: 't.refresh', command: 'x', token: 'finish two', untilMs: undefined };
    await lockFlows(catalog, [claim], Date.now() + 61_000);
    const instance = await Instance.of(world, refreshBeside);
    instance.clock.aheadMs = 61_000;
    await instance.look();
    expect(instance.started).toEqual([]);
  });

  test('not one that builds yet: the table is as it was, and a person may give it up', async () => {
    const world = await interrupted(refreshBeside, 'building');
    const instance = await Instance.of(world, refreshBeside);
    instance.clock.aheadMs = 3_600_000;
    await instance.look();
    expect(instance.started).toEqual([]);
  });

  test('not one of another definition, by an instance or by hand', async () => {
    const world = await interrupted(refreshBeside, 'swapping');
    world.sql = sql.replace('SELECT k, seq, v', 'SELECT k, seq, upper(v) AS v');
    const instance = await Instance.of(world, refreshBeside);
    instance.clock.aheadMs = 61_000;
    await instance.look();
    expect(instance.started).toEqual([]);
    await expect(refreshBeside(await world.besideOptions('t'))).rejects.toMatchObject({
      code: 'DEFINITION_CHANGED',
      hint: expect.stringContaining('with the files that it was begun with'),
    });
    world.sql = sql;
    await refreshBeside(await world.besideOptions('t'));
    expect(await instance.rows()).toHaveLength(2);
  });
});
