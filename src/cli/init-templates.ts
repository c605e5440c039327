/** One file that `init` writes. */
export type TemplateFile = { readonly name: string; readonly text: string };

const sample = `{"order_id":1,"customer":"Ada","status":"CREATED","amount":42.50,"update_id":1}
{"order_id":1,"customer":"Ada","status":"PAID","amount":42.50,"update_id":3}
{"order_id":2,"customer":"Grace","status":"CREATED","amount":7.00,"update_id":2}
{"order_id":2,"customer":"Grace","status":"CANCELLED","amount":-1,"update_id":4}
{"order_id":1,"customer":"Ada","status":"CREATED","amount":42.50,"update_id":1}
`;

const config = `# Every option: tidemark config --help
pipeline:
  # Prefix of the consumer groups, the internal topics and the transactional ids. Keep it.
  name: orders
  files: [pipeline.sql]
kafka:
  brokers: [localhost:9092]
state:
  # A directory of this machine; 'redis' with redis.url where several instances share the work.
  kind: embedded
  directory: .tidemark
`;

const plain = `-- Orders come as partial snapshots, out of order and more than once; the update id orders them.
-- Try it without any service:
--   tidemark try pipeline.sql --input orders=orders.jsonl
-- Run it on Kafka (tidemark.yaml names the brokers):
--   tidemark run pipeline.sql

CREATE SOURCE orders (
  order_id BIGINT,
  customer STRING,
  status STRING,
  amount DECIMAL(10,2),
  update_id BIGINT
) WITH (topic = 'orders');

-- Of each order the row with the highest update id. A row without a sensible amount is as if it had never come: the last
-- good one stays.
CREATE STREAMING TABLE orders_current (
  CONSTRAINT priced EXPECT (amount >= 0) ON VIOLATION DROP ROW
) WITH (topic = 'orders_current')
FLOW REPLACE USING (order_id) SEQUENCE BY update_id BY NAME
SELECT order_id, customer, status, amount, update_id
FROM STREAM(orders);
`;

const bronze = `-- A raw table that keeps everything, and a table that is computed from it. The topic of the source may forget its records
-- after a day: the raw table has them, so whatever changes further down, a full refresh loses nothing.
-- Try it without any service:
--   tidemark try pipeline.sql --input orders=orders.jsonl
-- Run it on Kafka (tidemark.yaml names the brokers):
--   tidemark run pipeline.sql
-- After a change of the lower table:
--   tidemark refresh orders_current --plan
--   tidemark refresh orders_current

-- Text, not columns: what a producer sends tomorrow fits, too.
CREATE SOURCE orders (raw STRING) WITH (topic = 'orders', format = 'string');

-- Bronze: every record as it came, once, for ever (cleanup.policy = delete, retention.ms = -1). It reads nothing out of the
-- text, so there is never a reason to refresh it.
CREATE STREAMING TABLE orders_raw WITH (topic = 'orders_raw')
AS SELECT raw, _timestamp AS sent_at FROM STREAM(orders);

-- Silver: of each order the row with the highest update id. Change it at will, and refresh it from the raw table. A record that
-- can't be read as JSON of these types (FAILFAST), or has no update id, is set aside as a dead letter; one without an order id, or with
-- a price below zero, is dropped and counted.
CREATE STREAMING TABLE orders_current (
  CONSTRAINT identified EXPECT (order_id IS NOT NULL) ON VIOLATION DROP ROW,
  CONSTRAINT priced EXPECT (amount >= 0) ON VIOLATION DROP ROW
) WITH (topic = 'orders_current', dead_letter_topic = 'orders_bad')
FLOW REPLACE USING (order_id) SEQUENCE BY update_id BY NAME
SELECT o.order_id, o.customer, o.status, o.amount, o.update_id
FROM (
  SELECT from_json(
    raw,
    'order_id BIGINT, customer STRING, status STRING, amount DECIMAL(10,2), update_id BIGINT',
    map('mode', 'FAILFAST')
  ) AS o
  FROM STREAM(orders_raw)
);
`;

/** A pipeline, its configuration and records that it runs on at once. */
export function initTemplate(isBronze: boolean): readonly TemplateFile[] {
  return [
    { name: 'pipeline.sql', text: isBronze ? bronze : plain },
    { name: 'tidemark.yaml', text: config },
    { name: 'orders.jsonl', text: sample },
  ];
}
