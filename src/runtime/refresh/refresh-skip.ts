import { FlowError } from '../../base/errors.ts';
import type { LogPlace } from '../../base/log-place.ts';
import { builtFlowOf } from '../../plan/bind/names.ts';
import type { FlowPlan } from '../../plan/pipeline-plan.ts';
import type { Log } from '../../ports/log.ts';
import { recordSkip, type SkippedRecord } from '../takeover/skips.ts';
import { stopOf } from '../worker/stops.ts';
import { type OutsideOptions, readCheckpoints, whileNobodyReads } from './refresh-checkpoints.ts';

type RecordBytes = { readonly key: Buffer | null; readonly value: Buffer | null };

/**
 * Has a flow step over one record that it cannot process. Invariant: the record's bytes are in the catalog before the
 * flow passes it, and only a record that the flow has not passed yet is stepped over: the one that it stopped at, or any where
 * `allowLoss` says so.
 */
export async function skipRecord(
  options: OutsideOptions & { readonly allowLoss?: boolean },
  flow: FlowPlan,
  place: LogPlace,
): Promise<SkippedRecord> {
  return whileNobodyReads(options, [flow.name], async () => {
    if (options.allowLoss !== true) refuseOther(options, flow, place);
    const { record, ...skip } = await recordToSkip(options, flow, place);
    await recordSkip(options.catalog, skip, record);
    return shownSkip(skip, record);
  });
}

/** What would be stepped over; an error where it can't be. Nothing is held or written. */
export async function previewSkip(
  options: OutsideOptions,
  flow: FlowPlan,
  place: LogPlace,
): Promise<SkippedRecord> {
  const { record, ...skip } = await recordToSkip(options, flow, place);
  return shownSkip(skip, record);
}

/** A slip of the offset would lose a record that nothing is wrong with. */
function refuseOther({ catalog }: OutsideOptions, flow: FlowPlan, place: LogPlace): void {
  const textOf = ({ topic, partition, offset }: LogPlace): string =>
    `${topic}/${partition}@${offset}`;
  // Its next generation, which a refresh builds, may have stopped there, too.
  const [stopped, ...others] = [flow.name, builtFlowOf(flow.name)].flatMap(
    (name) => stopOf(catalog, name)?.place ?? [],
  );
  if (stopped !== undefined && [stopped, ...others].some((one) => textOf(one) === textOf(place))) {
    return;
  }
  throw new FlowError(
    'DATA_LOSS_REFUSED',
    `flow "${flow.name}" did not stop at ${textOf(place)}, which would never be read`,
    {
      detail:
        stopped === undefined
          ? 'It is not known to have stopped at any record.'
          : `It stopped at ${textOf(stopped)}.`,
      hint: `Step over the record that it stopped at, which tidemark status tells; or accept that this one is lost: tidemark checkpoint skip ${flow.name} ${textOf(place)} --allow-loss`,
    },
  );
}

type Skip = Omit<SkippedRecord, 'key' | 'value'>;

function shownSkip(skip: Skip, { key, value }: RecordBytes): SkippedRecord {
  return {
    ...skip,
    key: key?.toString('base64') ?? null,
    value: value?.toString('base64') ?? null,
  };
}

async function recordToSkip(
  options: OutsideOptions,
  flow: FlowPlan,
  place: LogPlace,
): Promise<Skip & { readonly record: RecordBytes }> {
  const { log, clock } = options;
  const rows = await readCheckpoints(options, flow);
  const row = rows.find(
    ({ stage, topic, partition }) =>
      stage === 'source' && topic === place.topic && partition === place.partition,
  );
  const name = `${place.topic}/${place.partition}`;
  if (row === undefined) {
    throw new FlowError('USAGE', `flow "${flow.name}" does not read ${name}`, {
      hint: `It reads: ${rows.flatMap((one) => (one.stage === 'source' ? [`${one.topic}/${one.partition}`] : [])).join(', ')}.`,
    });
  }
  if ((row.committed ?? row.start) > place.offset) {
    throw new FlowError('USAGE', `flow "${flow.name}" has passed ${name}@${place.offset} already`, {
      detail: `Its checkpoint there is offset ${row.committed}.`,
    });
  }
  const record = await recordAt(log, place, row.end);
  return { flow: flow.name, ...place, topicId: row.topicId, atMs: clock.now(), record };
}

async function recordAt(
  log: Log,
  { topic, partition, offset }: LogPlace,
  end: number,
): Promise<RecordBytes> {
  const reader = log.openReader();
  try {
    reader.assign(topic, partition, offset);
    for (let position = offset; position <= offset && position < end; ) {
      for (const { records, nextOffset } of await reader.poll(500)) {
        while (records.next()) {
          if (records.offset > offset) break;
          const { bytes, keyStart, keyEnd, valueStart, valueEnd } = records;
          return {
            key: keyEnd < 0 ? null : Buffer.from(bytes.subarray(keyStart, keyEnd)),
            value: valueEnd < 0 ? null : Buffer.from(bytes.subarray(valueStart, valueEnd)),
          };
        }
        position = nextOffset;
      }
    }
  } finally {
    await reader.close();
  }
  throw new FlowError('USAGE', `there is no record at ${topic}/${partition}@${offset}`, {
    detail: `The log ends at offset ${end}; control records and compacted ones have offsets, too.`,
  });
}
