import { type FlowCounters, type TableCounters, unexplained } from '../task/row-account.ts';
import type { AccountOfFlow } from './read-account.ts';

export type AccountCheck = {
  readonly flow: string;
  readonly account: AccountOfFlow;
  readonly expected: FlowCounters;
  /** Nothing was read twice on purpose, and nothing is written outside of a transaction: each count is exact. */
  readonly isExact: boolean;
};

/**
 * Closes the books of a flow that has caught up. Returns every equation that does not hold; none: however often a
 * record was read, it was counted once, and what became of every row is known.
 */
export function checkAccount({ flow, account, expected, isExact }: AccountCheck): string[] {
  const { source, table } = account;
  return [
    ...(isExact ? differences(source, expected) : []),
    ...equations(source, table),
    ...(isExact ? crossings(source, table) : []),
  ].map((fault) => `account of flow "${flow}": ${fault}`);
}

function differences(source: FlowCounters, expected: FlowCounters): string[] {
  const faults: string[] = [];
  for (const [name, count] of Object.entries(source)) {
    const want = expected[name as keyof FlowCounters];
    if (typeof count === 'number' && count !== want) faults.push(`${name} ${count} for ${want}`);
  }
  return faults;
}

function equations(source: FlowCounters, table: TableCounters): string[] {
  const faults: string[] = [];
  const { records, decoded, tombstones, deadLettered, rows, filtered, dropped, handedOn } = source;
  if (records !== decoded + tombstones + deadLettered) {
    faults.push(`of ${records} records ${decoded} + ${tombstones} + ${deadLettered} are explained`);
  }
  if (rows !== filtered + dropped + handedOn) {
    faults.push(`of ${rows} rows ${filtered} + ${dropped} + ${handedOn} are explained`);
  }
  const open = unexplained(table);
  if (open !== 0) faults.push(`of ${table.rows} rows at the table ${open} are not explained`);
  return faults;
}

/** What one stage hands on, the next one receives, each row once. */
function crossings(source: FlowCounters, table: TableCounters): string[] {
  const faults: string[] = [];
  if (source.handedOn + table.replayed !== table.rows) {
    faults.push(`${source.handedOn} rows were handed on, ${table.rows} arrived`);
  }
  if (table.duplicate > 0) {
    faults.push(`${table.duplicate} rows came twice, though transactions let nothing repeat`);
  }
  return faults;
}
