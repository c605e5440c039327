import { type Change, decodeChanges } from '../../data/change.ts';
import { readProvenance } from '../../data/provenance.ts';
import { truncateKey } from '../../data/row-envelope.ts';
import type { Slice } from '../../ports/log.ts';
import { type RowLoss, type RowSources, rowLoss } from '../../refresh/loss.ts';
import type { SourceBounds } from '../../refresh/retention.ts';
import { parseSources } from '../../task/output/output-record.ts';
import { foreignRecord, readTableHeaders } from '../../task/table-records.ts';

/**
 * How a table's records tell where their rows came from. `rows`: of the sources of a row each stands for the others.
 * `appended`: the same, without a sequence. `changes`: a row is put together from all of its sources.
 */
export type RecordForm = 'rows' | 'appended' | 'changes';

export function formOf({ isAppended, isChanging }: TableForm): RecordForm {
  if (isChanging) return 'changes';
  return isAppended ? 'appended' : 'rows';
}

type TableForm = { readonly isAppended: boolean; readonly isChanging: boolean };

/** The last truncate of a table stands in each of its partitions, and counts once. */
export function isTwinFloor(key: string, { partition }: Slice): boolean {
  return key === truncateKey && partition !== 0;
}

export type RecordLosses = {
  /** Canonical text; empty where rows have none. */
  readonly sequence: string;
  /** The rows that can't be read again. */
  readonly losses: readonly RowLoss[];
  /** What no row shows and counts nonetheless, such as a delete: an older change might rise without it. */
  readonly hidden: RowLoss | undefined;
};

/** What a full refresh would take from one record of a table. Invariant: a record without its headers is none of ours. */
export function recordLosses(
  slice: Slice,
  { bounds, form }: { readonly bounds: SourceBounds; readonly form: RecordForm },
): RecordLosses {
  const { records } = slice;
  const { sequence, sources, state } = readTableHeaders(records);
  const groups = sources === undefined ? undefined : parseSources(sources);
  if ((sequence === undefined && form !== 'appended') || groups === undefined) {
    throw foreignRecord(slice, records.offset, 'its headers tm-seq and tm-src are missing');
  }
  if (form !== 'changes') {
    const losses = groups.flatMap((group) => rowLoss(bounds, group.map(placeOf)) ?? []);
    return { sequence: sequence ?? '', losses, hidden: undefined };
  }
  const isShown = records.valueEnd >= 0;
  const changes = state === undefined ? undefined : decodeChanges(state);
  const shown = new Set(isShown ? groups.flat().map(textOf) : []);
  const others = (changes ?? []).map(provenanceOf).filter((source) => !shown.has(textOf(source)));
  return {
    sequence: sequence ?? '',
    losses: isShown ? groups.flatMap((group) => partLoss(bounds, group.map(placeOf)) ?? []) : [],
    hidden: partLoss(bounds, others.map(placeOf)),
  };
}

/** Of a record of the levels topic, whose rows are none. */
export function levelLoss({ losses, hidden }: RecordLosses): RowLoss | undefined {
  return losses[0] ?? hidden;
}

/** What is lost of something that takes all of its sources to put together; undefined: nothing. */
export function partLoss(bounds: SourceBounds, sources: RowSources): RowLoss | undefined {
  const lost = sources.flatMap((source) => rowLoss(bounds, [source]) ?? []);
  const [first] = lost;
  if (first === undefined) return undefined;
  const worst = lost.find(({ fate }) => fate === 'lost') ?? first;
  return { ...worst, sources: lost.flatMap((one) => one.sources) };
}

/** The same loss under other bounds. */
export function lossAgain(
  { bounds, form }: { readonly bounds: SourceBounds; readonly form: RecordForm },
  { sources }: RowLoss,
): RowLoss | undefined {
  return form === 'changes' ? partLoss(bounds, sources) : rowLoss(bounds, sources);
}

export function provenanceOf({ provenance: { bytes, start, end } }: Change): Buffer {
  return bytes.subarray(start, end);
}

function placeOf(source: Buffer) {
  return readProvenance(source, 0);
}

function textOf(source: Buffer): string {
  return source.toString('latin1');
}
