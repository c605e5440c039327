export type NumberedKey = { readonly key: string; readonly position: number };

/**
 * The record key of output mode `rows`, taken apart: `{"k":1,"_row":0}` → `{"k":1}` and 0. Undefined when
 * there is no row number at its end, where the writer always puts it.
 */
export function splitNumberedKey(recordKey: string): NumberedKey | undefined {
  const match = /,"_row":(\d+)\}$/.exec(recordKey);
  return match === null
    ? undefined
    : { key: `${recordKey.slice(0, match.index)}}`, position: Number(match[1]) };
}
