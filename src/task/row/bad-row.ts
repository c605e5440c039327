import { type ScanVerdict, scanVerdictText } from '../../data/json-scan.ts';

/** Why a record gives no rows: a value, not an exception, until the flow decides what to do with it. */
export type BadRow = { readonly errorClass: string; readonly message: string };

/** A bad row that was set aside, and where and when. */
export type PlacedBadRow = BadRow & {
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
  readonly atMs: number;
};

export function malformedRecord(verdict: ScanVerdict): BadRow {
  return {
    errorClass: 'MALFORMED_RECORD',
    message: scanVerdictText[verdict] ?? 'it is no JSON',
  };
}
