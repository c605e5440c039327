import type { TablePlan } from '../../plan/pipeline-plan.ts';
import { refreshOrder } from '../../refresh/refresh-report.ts';
import { type BesideOptions, refreshBeside } from '../../runtime/refresh/refresh-beside.ts';
import { cancelRefresh } from '../../runtime/refresh/refresh-cancel.ts';
import { flowsOf } from '../../runtime/refresh/refresh-facts.ts';
import type { RefreshRunOptions } from '../../runtime/refresh/refresh-run.ts';
import { refreshTogether, refreshTogetherBeside } from '../../runtime/refresh/refresh-together.ts';
import type { RuntimeListener } from '../../runtime/runtime-events.ts';
import { Catalog } from '../../runtime/topics/catalog.ts';
import { defaultWorkerSettings } from '../../runtime/worker/start-worker.ts';
import type { Fate, SimulatedSite } from './simulated-instance.ts';
import { SimulatedLog } from './simulated-log.ts';
import { SimulatedProcess } from './simulated-process.ts';
import { SimulatedStateStore } from './simulated-state-store.ts';

/** Beside the live table, by emptying it, or given up while it is built. */
export type RefreshWay = 'beside' | 'in_place' | 'cancel';

export type SimulatedRefreshOptions = {
  readonly table: TablePlan;
  readonly way: RefreshWay;
  /** Of no other process of its world. */
  readonly token: string;
  readonly onStep: (text: string) => void;
  readonly onEvent: RuntimeListener;
};

/**
 * A command that computes a table, and what reads it, anew, in a process of its own. It keeps what can not be read again, so that whatever the sources have lost meanwhile the table has to be what it would have been without.
 */
export class SimulatedRefresh {
  readonly table: TablePlan;
  readonly way: RefreshWay;
  readonly process: SimulatedProcess;
  /** Settles when the command ends by itself; never after a crash. */
  readonly fate: Promise<Fate>;
  /** By which it ended; undefined: it goes on, was killed, or is done. */
  error: unknown;

  constructor(
    site: SimulatedSite,
    { table, way, token, onStep, onEvent }: SimulatedRefreshOptions,
  ) {
    const { log, clock, faults, outages, drawStallMs, sliceRecordsMax } = site;
    this.table = table;
    this.way = way;
    this.process = new SimulatedProcess({ clock, faults, outages, drawStallMs });
    this.fate = this.#live(
      site,
      new SimulatedLog(log, this.process, sliceRecordsMax),
      new SimulatedStateStore(site.state, this.process),
      { token, onStep, onEvent },
    );
  }

  get isGone(): boolean {
    return this.process.isCrashed;
  }

  async #live(
    { plan, pipeline, settings }: SimulatedSite,
    log: SimulatedLog,
    state: SimulatedStateStore,
    { token, onStep, onEvent }: Omit<SimulatedRefreshOptions, 'table' | 'way'>,
  ): Promise<Fate> {
    const { clock } = this.process;
    try {
      const catalog = new Catalog(log, `${pipeline}.catalog`);
      const shared = {
        ...{ log, catalog, clock, pipeline, plan, listener: onEvent, state },
        ...{ replicationFactor: -1, allowLoss: false, keepUnrecoverable: true, onStep },
        command: `refresh ${this.table.name}`,
        token,
        settings: { ...defaultWorkerSettings, ...settings, pipeline, instance: 'refresh', token },
      };
      const tables = refreshOrder(plan, [this.table], true);
      const together = new Set(tables.map(({ name }) => name));
      const all = tables.map((table): RefreshRunOptions => {
        const [flow] = flowsOf(plan, table);
        return { ...shared, table, flow, together };
      });
      const besideOf = (one: RefreshRunOptions): BesideOptions => ({ ...shared, ...one });
      const openState = () => Promise.resolve(state);
      if (this.way === 'in_place') await refreshTogether(all);
      else if (this.way === 'beside') {
        await refreshTogetherBeside(all, (one) => refreshBeside(besideOf(one)));
      } else {
        for (const one of all) await cancelRefresh({ ...besideOf(one), openState });
      }
      this.process.exit();
      return { fate: 'stopped' };
    } catch (error) {
      this.error = error;
      this.process.crash();
      return { fate: 'failed', error };
    }
  }
}
