import type { PipelinePlan } from '../plan/pipeline-plan.ts';
import type { Clock } from '../ports/clock.ts';
import type { StepTrace, Tracer } from '../ports/tracer.ts';
import type { RuntimeListener } from '../runtime/runtime-events.ts';

export type TraceListenerOptions = {
  readonly tracer: Tracer;
  readonly clock: Clock;
  readonly transactionalId: string | undefined;
  /** The output topic of a flow. */
  readonly outputTopic: (flow: string) => string;
};

/** Tells a tracer what the events say. Invariant: every transaction that began ends, whatever becomes of it. */
export function traceListener(options: TraceListenerOptions): RuntimeListener {
  const { tracer, clock, transactionalId, outputTopic } = options;
  return (event) => {
    const nowMs = clock.now();
    switch (event.event) {
      case 'committed': {
        const { durationMs, phases, records, flows } = event;
        tracer.commitEnds({
          result: 'ok',
          transactionalId,
          startedAtMs: nowMs - durationMs,
          durationMs,
          flushMs: phases?.flush,
          records,
          sent: new Map(
            flows.map(({ flow, upserts, deletes }) => [outputTopic(flow), upserts + deletes]),
          ),
        });
        break;
      }
      case 'recovering':
      case 'flow_failed':
        tracer.commitEnds({
          result: event.error.code === 'PRODUCER_FENCED' ? 'fenced' : 'aborted',
          transactionalId,
          startedAtMs: nowMs,
          durationMs: 0,
          flushMs: undefined,
          records: 0,
          sent: new Map(),
        });
        break;
      case 'assigned': {
        const { flow, durationMs, partitions } = event;
        const attributes = { 'tidemark.flow': flow, 'tidemark.partitions': partitions.length };
        const startedAtMs = nowMs - durationMs;
        tracer.step({ name: 'rebalance', startedAtMs, durationMs, attributes });
        break;
      }
      case 'restored': {
        const { flow, partition, cause, records, durationMs } = event;
        const attributes = {
          'tidemark.flow': flow,
          'tidemark.partition': partition,
          'tidemark.reason': cause,
          'tidemark.records': records,
        };
        const name = `restore ${outputTopic(flow)}`;
        tracer.step({ name, startedAtMs: nowMs - durationMs, durationMs, attributes });
        break;
      }
      default:
        break;
    }
  };
}

/** The step before all others. */
export function planStep(
  { tables, flows, materializedViews }: PipelinePlan,
  times: Pick<StepTrace, 'startedAtMs' | 'durationMs'>,
): StepTrace {
  const attributes = {
    'tidemark.tables': tables.length,
    'tidemark.flows': flows.length,
    'tidemark.views': materializedViews.length,
  };
  return { name: 'plan', ...times, attributes };
}
