import { FlowError } from '../base/errors.ts';
import { readHeaders } from '../data/record-headers.ts';
import type { RecordCursor } from '../ports/log.ts';
import { stateHeader } from './output/change-output.ts';

/** What the headers of a record of a table's topic tell. */
export type TableHeaders = {
  /** `tm-seq` */
  readonly sequence: string | undefined;
  /** `tm-src` */
  readonly sources: string | undefined;
  /** What stands in the state beside the rows, of a table that AUTO CDC flows write. */
  readonly state: Buffer | undefined;
  /** `tm-gen` is there: every record of ours has it, tombstones too. */
  readonly isOurs: boolean;
};

export function readTableHeaders({ bytes, headersStart, headersEnd }: RecordCursor): TableHeaders {
  let sequence: string | undefined;
  let sources: string | undefined;
  let state: Buffer | undefined;
  let isOurs = false;
  for (const { key, value } of readHeaders(bytes, headersStart, headersEnd)) {
    if (key === 'tm-seq') sequence = value?.toString('utf8');
    else if (key === 'tm-src') sources = value?.toString('latin1');
    else if (key === 'tm-gen') isOurs = true;
    else if (key === stateHeader) state = value ?? undefined;
  }
  return { sequence, sources, state, isOurs };
}

type Place = { readonly topic: string; readonly partition: number };

/** A record in a topic of a table that no pipeline has written. Nothing can be computed from it, so whoever meets it stops. */
export function foreignRecord(
  place: Place,
  offset: number,
  reason: string,
  logReason = reason,
): FlowError {
  const { topic, partition } = place;
  const at = `Partition ${partition}, offset ${offset}`;
  return new FlowError(
    'RECORD_CORRUPT',
    `topic "${topic}" holds a record that is not one of ours`,
    {
      detail: `${at}: ${reason}.`,
      logDetail: `${at}: ${logReason}.`,
      place: { topic, partition, offset },
      hint: `Find out what else writes to this topic and stop it: a table may be written by its pipeline alone, and by one definition of it. If the files say another output mode than the table was written with, restore that first. Then empty the table whose topic "${topic}" is, and compute it anew, whatever the topic holds: tidemark refresh, with its name, --in-place and --allow-loss. Of a materialized view delete the topic: the next update makes it anew.`,
    },
  );
}

/** Reads a part of a record; what does not read back is told with the place of the record. */
export function readAt<Part>(place: Place, offset: number, read: () => Part): Part {
  try {
    return read();
  } catch (error) {
    throw withPlace(error, place, offset);
  }
}

/** What is wrong with a part of a record, with the place of the record. */
export function withPlace(error: unknown, place: Place, offset: number): unknown {
  if (!(error instanceof FlowError) || error.code !== 'RECORD_CORRUPT') return error;
  if (error.place !== undefined) return error;
  const { message, detail } = error;
  const reason = detail === undefined ? message : `${message}: ${detail}`;
  // A row stands in no log.
  return foreignRecord(place, offset, reason, message);
}

/** A tombstone of somebody else would take the rows of a key away, and with them the level that keeps older ones out. */
export function foreignTombstone(place: Place, offset: number): FlowError {
  return foreignRecord(place, offset, 'it deletes a key and has no header tm-gen');
}
