import { type ErrorCode, FlowError } from '../../base/errors.ts';
import type { FlowPlan, PipelinePlan, TablePlan } from '../../plan/pipeline-plan.ts';
import { sourcesOf } from '../../plan/topology.ts';
import { refreshOrder } from '../../refresh/refresh-report.ts';
import { errorText, isOfTheWorld } from './simulated-instance.ts';
import { type RefreshWay, SimulatedRefresh } from './simulated-refresh.ts';
import { eventText, type SimulatedWorld } from './simulated-world.ts';

/** What a person is told who asked for it at a bad moment, and may ask again. */
const refusedCodes: readonly ErrorCode[] = [
  // Somebody who is dead is still taken for one at work.
  'TABLE_LOCKED',
  'GROUP_BUSY',
];

/** Tables that can be built beside the live one, with all that reads them. */
function refreshableTables(plan: PipelinePlan): readonly TablePlan[] {
  return plan.tables.filter((table) =>
    refreshOrder(plan, [table], true).every((one) => {
      const flows = plan.flows.filter(({ target }) => target === one.name);
      const isWritten = flows.length > 0 && one.isSink !== true;
      return isWritten && flows.every((flow) => isRefreshable(plan, flow));
    }),
  );
}

/** What joins, or lets rows through by what it remembers, is refreshed otherwise, and so is what reads of that. */
function isRefreshable(plan: PipelinePlan, flow: FlowPlan): boolean {
  if (flow.kind === 'join' || flow.kind === 'sift') return false;
  return sourcesOf(plan, flow).every(
    ({ batch, table }) =>
      batch === undefined &&
      plan.flows.every(
        ({ target, kind }) => target !== table || (kind !== 'join' && kind !== 'sift'),
      ),
  );
}

/** Somebody asks for a refresh: of a table that none was asked for, or of the one whose refresh has not ended yet. */
export async function beginRefresh(world: SimulatedWorld): Promise<void> {
  const { random, scenario, clock, workload, plan } = world;
  const open = world.refresh;
  if (open !== undefined && open.way === 'beside' && random.chance(250)) cancel(world, open.table);
  if (open !== undefined && !open.isGone) {
    if (random.chance(500)) open.process.crash();
    return;
  }
  const table = open?.table ?? random.pick(refreshableTables(plan));
  if (table === undefined) return;
  start(world, table, open?.way ?? drawWay(world));
  await workload.produce(random.below(scenario.roundRecordsMax));
  await clock.sleep(random.below(20_000));
}

/**
 * Whoever reads first versions alone, or what is there at one moment, may find an emptied table, and nobody says what that should
 * give.
 */
function drawWay({ random, plan, scenario }: SimulatedWorld): RefreshWay {
  const { flows, views = [] } = scenario.shape;
  const isInPlace = random.chance(250);
  const isReadOnce =
    plan.sources.some(({ skipsChanges }) => skipsChanges === true) ||
    [...flows, ...views].some(({ isOnce }) => isOnce === true);
  return isInPlace && !isReadOnce ? 'in_place' : 'beside';
}

/** A refresh that was given up is asked for once more in the end. */
function cancel(world: SimulatedWorld, table: TablePlan): void {
  const command = commandOf(world, table, 'cancel');
  void command.fate.then((end) => {
    if (end.fate === 'stopped') world.note(() => `refresh of ${table.name} is cancelled`);
    else told(world, 'cancel', end.error);
  });
}

function start(world: SimulatedWorld, table: TablePlan, way: RefreshWay): SimulatedRefresh {
  const refresh = commandOf(world, table, way);
  world.refresh = refresh;
  if (way === 'in_place') world.isEmptied = true;
  void refresh.process.crashed.then(() => world.note(() => 'the refresh is gone'));
  void refresh.fate.then((end) => {
    if (end.fate === 'failed') return told(world, 'refresh', end.error);
    world.refresh = undefined;
    world.note(() => `refresh of ${table.name} is done`);
  });
  return refresh;
}

function commandOf(world: SimulatedWorld, table: TablePlan, way: RefreshWay): SimulatedRefresh {
  world.refreshes += 1;
  world.note(() => `refresh of ${table.name} begins: ${way}`);
  return new SimulatedRefresh(world.site, {
    table,
    way,
    token: `refresh-${world.refreshes}`,
    onStep: (text) => world.note(() => `refresh: ${text}`),
    onEvent: (event) => world.note(() => `refresh ${eventText(event)}`),
  });
}

function told(world: SimulatedWorld, command: string, error: unknown): void {
  world.note(() => `${command} failed: ${errorText(error)}`);
  if (!isRefusal(error)) world.complain(`${command} failed: ${errorText(error)}`);
}

/** What was begun is ended by the same command, however often it takes. */
export async function endRefresh(world: SimulatedWorld): Promise<void> {
  for (let open = world.refresh; open !== undefined; open = world.refresh) {
    const running = open.isGone ? start(world, open.table, open.way) : open;
    // What lies between the stages is no loss once somebody has merged it.
    world.forgetGone();
    if (world.instances.length === 0) world.begin();
    await Promise.race([running.fate, running.process.crashed]);
    await world.clock.sleep(1_000);
    // There is nothing to compute anew, and nothing was begun.
    if (running.error instanceof FlowError && isNeverWritten(running.error)) return;
  }
}

function isNeverWritten({ code, message }: FlowError): boolean {
  const isNothing = message.endsWith('was never written') || message.endsWith('is under way');
  return code === 'TOPIC_MISSING' || (code === 'USAGE' && isNothing);
}

/** Whether a refresh that ended by this may be asked for again. */
function isRefusal(error: unknown): boolean {
  if (isOfTheWorld(error)) return true;
  if (!(error instanceof FlowError)) return false;
  const { code, message } = error;
  if (code === 'DATA_LOSS_REFUSED' && message.includes('between the stages')) return true;
  return refusedCodes.includes(code) || isNeverWritten(error);
}
