/** Why a record gives no rows: a value, not an exception, until the flow decides what to do with it. */
export type BadRow = { readonly errorClass: string; readonly message: string };
