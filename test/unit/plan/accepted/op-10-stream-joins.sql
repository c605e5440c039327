-- OP-10: joins of two streams, in queries, views and around each other
CREATE STREAMING TABLE t FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME
SELECT o.region, o.seq, r.qty FROM STREAM(orders) o JOIN STREAM(refunds) r ON o.item = r.item AND r.qty <= o.qty;
--                                 ^ warning JOIN_STATE_UNBOUNDED
CREATE VIEW both AS SELECT * FROM STREAM(orders) NATURAL JOIN STREAM(refunds);
--                                ^ warning JOIN_STATE_UNBOUNDED
CREATE STREAMING TABLE u AS SELECT region, item FROM STREAM(both);
CREATE STREAMING TABLE v FLOW REPLACE USING (a) SEQUENCE BY s BY NAME
SELECT x.region AS a, x.seq + y.seq + z.seq AS s
FROM STREAM(orders) x JOIN STREAM(orders) y ON x.seq <=> y.seq JOIN STREAM(refunds) z ON z.seq = y.seq;
--   ^ warning JOIN_STATE_UNBOUNDED
--   ^ warning JOIN_STATE_UNBOUNDED
