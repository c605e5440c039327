import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { compilePrograms } from '../../support/compile-typescript.ts';
import { CliFolder, runCli } from '../../support/run-cli.ts';

const examples = resolve(import.meta.dirname, '../../../examples');

type Tables = Record<string, Record<string, unknown>[]>;

async function tried(pipeline: string, inputs: Readonly<Record<string, string>>): Promise<Tables> {
  const flags = Object.entries(inputs).flatMap(([topic, file]) => [
    '--input',
    `${topic}=${join(examples, file)}`,
  ]);
  const path = join(examples, pipeline);
  const { code, out } = await runCli(['try', path, ...flags, '--partitions', '3', '--json']);
  expect(code).toBe(0);
  return (JSON.parse(out) as { tables: Tables }).tables;
}

function column(rows: readonly Record<string, unknown>[] | undefined, name: string): unknown[] {
  return (rows ?? []).map((row) => row[name]);
}

describe('examples give what they promise', () => {
  test('FL-12 FL-13 customers: west and east in one table, by TypeScript', async () => {
    const tables = await tried('customers/customers.ts', {
      'customers.west': 'customers/west.jsonl',
      'customers.east': 'customers/east.jsonl',
    });
    expect(column(tables['customers_us'], 'region').sort()).toEqual(['east', 'west', 'west']);
    expect(column(tables['customers_current'], 'name').sort()).toEqual(['Ada L.', 'Grace']);
  });

  test('EG-01 payments: items exploded, paid by customer, large ones handed over', async () => {
    const tables = await tried('payments/payments.ts', { payments: 'payments/payments.jsonl' });
    expect(tables['payment_items']).toHaveLength(4);
    expect(tables['paid_by_customer']).toEqual([
      { customer: 'Ada', items: 3, paid: 1413.7 },
      { customer: 'Grace', items: 1, paid: 80 },
    ]);
    expect(tables['large_payments']).toEqual([{ payment_id: 43, seq: 1, total: 1350 }]);
  });

  test('FR-37 medallion: bronze, silver, gold', async () => {
    const tables = await tried('medallion/medallion.sql', {
      'shop.orders': 'medallion/orders.jsonl',
    });
    expect(tables['orders_bronze']).toHaveLength(6);
    expect(column(tables['orders_silver'], 'total').sort()).toEqual([12.5, 37.5, 80]);
    expect(tables['sales_by_product']).toEqual([
      { product: 'book', orders: 2, pieces: 4, sales: 50 },
      { product: 'lamp', orders: 1, pieces: 1, sales: 80 },
    ]);
    expect(column(tables['best_customers'], 'place').sort()).toEqual([1, 2, 3]);
  });

  test('FL-25 people: the newest row of each, and the history of where they lived', async () => {
    const tables = await tried('people/people.sql', { 'people.changes': 'people/changes.jsonl' });
    expect(column(tables['people'], 'city').sort()).toEqual(['Boston', 'Turin']);
    expect(tables['people_history']).toHaveLength(4);
    expect(tables['people_by_city']).toEqual([
      { city: 'Boston', people: 1 },
      { city: 'Turin', people: 1 },
    ]);
  });

  test('EG-02 EG-03 bookings', async () => {
    const tables = await tried('bookings/bookings.sql', { bookings: 'bookings/bookings.jsonl' });
    expect(tables['bookings_current']?.length).toBeGreaterThan(0);
    expect(tables['bookings_by_property']?.length).toBeGreaterThan(0);
  });
});

test('FL-12 FL-13 each example has a case, which passes under every schedule', async () => {
  const { code, out, err } = await runCli(['test', examples, '--json']);
  expect(code, err).toBe(0);
  const { cases } = JSON.parse(out) as { cases: { name: string; status: string }[] };
  expect(cases.map(({ name, status }) => `${name} ${status}`).sort()).toEqual(
    readdirSync(examples)
      .sort()
      .map((name) => `${name} passed`),
  );
}, 60_000);

describe('examples in TypeScript', () => {
  let folder: CliFolder;

  beforeEach(() => {
    folder = new CliFolder();
  });

  afterEach(() => folder.remove());

  const read = (path: string): string => readFileSync(join(examples, path), 'utf8');

  test('they compile, and a wrong column name does not', () => {
    const customers = read('customers/customers.ts');
    const payments = read('payments/payments.ts');
    const { lines, text } = compilePrograms(folder.path, {
      customers,
      payments,
      wrong_customers: customers.replace("'region', 'version'", "'regio', 'version'"),
      wrong_payments: payments.replace("replaceUsing: ['payment_id']", "replaceUsing: ['id']"),
    });
    expect([...lines.keys()].sort(), text).toEqual(['wrong_customers', 'wrong_payments']);
  }, 120_000);
});
