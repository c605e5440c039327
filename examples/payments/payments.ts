import { aggregates, from, pipeline, sql, stream } from 'tidemark';

/** A payment provider sends the items of a payment again whenever one of them changes, with a higher sequence. */
const p = pipeline({ timezone: 'UTC' });

export const payments = p.source('payments', {
  columns: {
    payment_id: 'BIGINT',
    seq: 'BIGINT',
    customer: 'STRING',
    items: 'ARRAY<STRUCT<sku: STRING, amount: DECIMAL(10,2)>>',
  },
});

export const paymentItems = p
  .table({
    name: 'payment_items',
    deadLetterTopic: 'payments.dlq',
    replaceUsing: ['payment_id'],
    sequenceBy: 'seq',
    query: stream(payments)
      .explode('items', { as: 'item' })
      .select((row) => ({
        payment_id: row.payment_id,
        seq: row.seq,
        customer: row.customer,
        sku: row.item.field('sku').cast('STRING'),
        amount: row.item.field('amount').cast('DECIMAL(10,2)'),
      })),
  })
  .expectOrDrop('positive', (row) => row.amount.gt(0));

/** What each customer has paid, as it stands. */
export const paidByCustomer = p.materializedView({
  name: 'paid_by_customer',
  query: from(paymentItems)
    .groupBy('customer')
    .aggregate((row) => ({
      items: aggregates.count(),
      paid: aggregates.sum(row.amount).cast('DECIMAL(20,2)'),
    })),
});

/** Somebody else's topic: one record for each payment above a limit, whenever it is sent. */
const limit = 1000;
export const large = p.sink('large_payments', { topic: 'alerts.large-payments' });
p.appendFlow({
  name: 'alert_large',
  target: large,
  query: sql`SELECT payment_id, seq, aggregate(items, CAST(0 AS DECIMAL(20,2)),
      (total, item) -> CAST(total + item.amount AS DECIMAL(20,2))) AS total
    FROM STREAM(${payments})
    WHERE aggregate(items, CAST(0 AS DECIMAL(20,2)),
      (total, item) -> CAST(total + item.amount AS DECIMAL(20,2))) > ${limit}`,
});

export default p;
