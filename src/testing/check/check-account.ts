import { type FlowCounters, type TableCounters, unexplained } from '../../task/row-account.ts';
import type { AccountOfFlow } from './read-account.ts';

export type AccountCheck = {
  readonly flow: string;
  readonly account: AccountOfFlow;
  /** undefined: it is not worked out by hand, and the equations have to hold all the same. */
  readonly expected: FlowCounters | undefined;
  /** By all flows that feed the table stage; undefined: that stage has stopped. */
  readonly handedOn: number | undefined;
  /** Changes that tell the same are one, wherever they come from; otherwise a row that comes twice is a fault. */
  readonly mayRepeat: boolean;
  /** Nothing was read twice on purpose, and nothing is written outside of a transaction: each count is exact. */
  readonly isExact: boolean;
};

/**
 * Closes the books of a flow that has caught up. Returns every equation that does not hold; none: however often a
 * record was read, it was counted once, and what became of every row is known.
 */
export function checkAccount(check: AccountCheck): string[] {
  const { flow, account, expected, isExact } = check;
  const { source, table } = account;
  return [
    ...(isExact && expected !== undefined ? differences(source, expected) : []),
    ...equations(source, table),
    ...(isExact ? crossings(check, table) : []),
  ].map((fault) => `account of flow "${flow}": ${fault}`);
}

function differences(source: FlowCounters, expected: FlowCounters): string[] {
  const faults: string[] = [];
  for (const [name, count] of Object.entries(source)) {
    const want = expected[name as keyof FlowCounters];
    if (typeof count === 'number' && count !== want) faults.push(`${name} ${count} for ${want}`);
  }
  for (const { name, passed, failed } of source.expectations) {
    const want = expected.expectations.find((one) => one.name === name);
    if (passed === want?.passed && failed === want.failed) continue;
    const counts = `${passed} and ${failed} for ${want?.passed} and ${want?.failed}`;
    faults.push(`expectation "${name}" ${counts}`);
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
function crossings({ handedOn, mayRepeat }: AccountCheck, table: TableCounters): string[] {
  const faults: string[] = [];
  if (handedOn !== undefined && handedOn + table.replayed !== table.rows) {
    faults.push(`${handedOn} rows were handed on, ${table.rows} arrived`);
  }
  if (table.duplicate > 0 && !mayRepeat) {
    faults.push(`${table.duplicate} rows came twice, though transactions let nothing repeat`);
  }
  return faults;
}
