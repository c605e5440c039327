import pino from 'pino';
import { systemClock } from '../adapters/system/system-clock.ts';
import type { FlowError } from '../base/errors.ts';
import { changedConfig, shownConfig } from '../config/load-config.ts';
import type { Config } from '../config/options.ts';
import type { RuntimeListener } from '../runtime/runtime-events.ts';
import type { SetAside } from '../runtime/worker/flow-tally.ts';

export type ServiceLog = {
  readonly listener: RuntimeListener;
  readonly trouble: (text: string) => void;
  readonly info: (fields: Readonly<Record<string, unknown>>, text: string) => void;
  readonly debug: (fields: Readonly<Record<string, unknown>>, text: string) => void;
  /** What only a developer can correct. */
  readonly bug: (error: unknown, text: string) => void;
};

/**
 * Log lines (JSON, on standard error) of what the runtime tells. Levels go by who must act: error needs a
 * person now, warn may need one, info tells what happened, debug is for developers. Invariant: no secret
 * and no content of a row above debug.
 */
export function serviceLog(
  config: Config,
  destination: pino.DestinationStream = pino.destination({ fd: 2, sync: true }),
  now: () => number = () => systemClock.now(),
): ServiceLog {
  const logger = pino(
    {
      level: config['log.level'],
      base: { pipeline: config['pipeline.name'], instance: config['instance.name'] },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    destination,
  );
  const letters = new LetterTally(now);
  const listener: RuntimeListener = (event) => {
    switch (event.event) {
      case 'committed': {
        const { records, outputRecords } = event;
        const durationMs = Math.round(event.durationMs);
        logger.debug({ records, outputRecords, durationMs }, 'committed');
        for (const { flow, setAside } of event.flows) {
          const told = setAside && letters.add(flow, setAside);
          if (told !== undefined) logger.warn(told, 'bad records became dead letters');
        }
        break;
      }
      case 'topic_created':
        logger.info({ topic: event.topic, partitions: event.partitions }, 'topic created');
        break;
      case 'assigned':
        logger.info({ flow: event.flow, partitions: event.partitions }, 'partitions assigned');
        break;
      case 'revoked':
        logger.info({ flow: event.flow, partitions: event.partitions }, 'partitions revoked');
        break;
      case 'restoring': {
        const { flow, partition, reason } = event;
        logger.info({ flow, partition, reason }, 'restoring state');
        break;
      }
      case 'restored': {
        const { flow, partition, records } = event;
        const durationMs = Math.round(event.durationMs);
        logger.info({ flow, partition, records, durationMs }, 'state restored');
        break;
      }
      case 'fencing':
        logger.warn(
          { transactionalId: event.transactionalId, reason: event.reason },
          'ending the open transaction of another instance',
        );
        break;
      case 'recovering':
        logger.warn(
          { ...logFields(event.error), attempt: event.attempt, delayMs: event.delayMs },
          'recovering from the last checkpoint',
        );
        break;
      case 'flow_failed':
        logger.error({ flow: event.flow, ...logFields(event.error) }, 'flow failed');
        logger.debug({ flow: event.flow, detail: event.error.detail }, 'why the flow failed');
        break;
      case 'gap':
        // What stops the flow is told as the error that it is.
        logger.warn(event.gap, 'records are gone');
        break;
      case 'succeeding': {
        const { flow, before, table } = event;
        logger.info({ flow, before, table }, 'taking the table over from a flow of another name');
        break;
      }
      case 'held':
        logger.info({ flow: event.flow }, 'flow held by a command');
        break;
      case 'source_held': {
        const { flow, topic, partition, offset, held, isAwaited } = event;
        logger.warn(
          { flow, topic, partition, offset, held },
          isAwaited
            ? 'waiting for the open transaction of a producer, behind which records of the source stand'
            : 'an open transaction of a producer holds records of the source back: the next update reads them',
        );
        break;
      }
      case 'released':
        logger.info({ flow: event.flow }, 'flow released');
        break;
      case 'view_computed': {
        const { view, kind, run, rows, changed, removed } = event;
        const durationMs = Math.round(event.durationMs);
        const figures = { run, rows, changed, removed, durationMs };
        if (kind === 'materialized_view') logger.info({ view, ...figures }, 'view computed');
        else logger.info({ flow: view, ...figures }, 'REPLACE WHERE flow computed');
        break;
      }
      case 'caught_up':
        logger.info({ flow: event.flow }, 'caught up');
        break;
    }
  };
  return {
    listener,
    trouble: (text) => logger.warn(text),
    info: (fields, text) => logger.info(fields, text),
    debug: (fields, text) => logger.debug(fields, text),
    bug: (error, text) => logger.error({ err: error }, text),
  };
}

const lettersEveryMs = 60_000;

/** The first dead letter of a flow is told at once; what follows is told together, once a minute, so that a flood is no flood of lines. */
class LetterTally {
  readonly #now: () => number;
  readonly #flows = new Map<string, { toldAtMs: number; untold: number }>();

  constructor(now: () => number) {
    this.#now = now;
  }

  /** What is to be told, without any content of a row; undefined: not yet. */
  add(
    flow: string,
    { records, errorClass, place }: SetAside,
  ): Readonly<Record<string, unknown>> | undefined {
    const nowMs = this.#now();
    const before = this.#flows.get(flow);
    const untold = (before?.untold ?? 0) + records;
    if (before !== undefined && nowMs - before.toldAtMs < lettersEveryMs) {
      before.untold = untold;
      return undefined;
    }
    this.#flows.set(flow, { toldAtMs: nowMs, untold: 0 });
    const last = `${place.topic}/${place.partition}@${place.offset}`;
    const hint = `tidemark dlq list ${flow}`;
    return { flow, records: untold, last, errorClass, hint };
  }
}

/** The configuration at the start: what somebody has set for whoever looks on, every option for developers. */
export function tellConfig({ info, debug }: ServiceLog, config: Config): void {
  info({ config: changedConfig(config) }, 'starting');
  debug({ config: shownConfig(config) }, 'every option');
}

/** What a log may have of an error. */
function logFields(error: FlowError): Record<string, unknown> {
  const { logDetail } = error;
  const { detail: _, ...fields } = errorFields(error);
  return { ...fields, ...(logDetail === undefined ? {} : { detail: logDetail }) };
}

export function errorFields(error: FlowError): Record<string, unknown> {
  const { code, message, detail, hint } = error;
  return {
    code,
    error: message,
    ...(detail === undefined ? {} : { detail }),
    ...(hint === undefined ? {} : { hint }),
  };
}
