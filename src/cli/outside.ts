import { hostname } from 'node:os';
import { systemClock } from '../adapters/system/system-clock.ts';
import type { LogPlace } from '../base/log-place.ts';
import type { FlowPlan, PipelinePlan } from '../plan/pipeline-plan.ts';
import type { OutsideOptions } from '../runtime/refresh/refresh-checkpoints.ts';
import type { RuntimeListener } from '../runtime/runtime-events.ts';
import { type Invocation, type Terminal, usageError } from './command.ts';
import type { Deployment } from './deployment.ts';

/** The flow that a verb is about; names go without case, as in SQL. */
export function namedFlow(plan: PipelinePlan, name: string): FlowPlan {
  const flow = plan.flows.find((one) => one.name.toLowerCase() === name.toLowerCase());
  if (flow !== undefined) return flow;
  throw usageError(
    `the pipeline has no flow "${name}"`,
    `Its flows are: ${plan.flows.map((one) => one.name).join(', ')}.`,
  );
}

/** The name of a flow as the catalog knows it; materialized views are computed by what has their name. */
export function namedWork(plan: PipelinePlan, name: string): string {
  const found = plan.materializedViews.find((one) => one.name.toLowerCase() === name.toLowerCase());
  return found === undefined ? namedFlow(plan, name).name : found.name;
}

/** What a verb that changes a pipeline from outside works with. */
export function outside(
  verb: string,
  { terminal, positionals }: Invocation,
  { log, catalog, pipeline, plan }: Deployment,
): OutsideOptions {
  if (catalog === undefined) {
    throw usageError(`pipeline "${pipeline}" never ran`, 'It has no checkpoints yet.');
  }
  return {
    log,
    catalog,
    clock: systemClock,
    pipeline,
    plan,
    listener: fencingListener(terminal),
    command: `tidemark ${verb} ${positionals.join(' ')}`,
    token: `${hostname()}-${process.pid}-${systemClock.now()}`,
  };
}

/** Tells whose open transactions a verb ends. */
export function fencingListener({ err }: Terminal): RuntimeListener {
  return (event) => {
    if (event.event !== 'fencing') return;
    err(`ending what instance ${event.transactionalId} left open: ${event.reason}\n`);
  };
}

/** A place of a record as people write it. */
export function placeOf(text: string): LogPlace {
  const match = /^(.+)\/(\d+)@(\d+)$/.exec(text);
  if (match === null) {
    throw usageError(`"${text}" is no place`, 'Write it as TOPIC/PARTITION@OFFSET.');
  }
  return { topic: match[1] ?? '', partition: Number(match[2]), offset: Number(match[3]) };
}
