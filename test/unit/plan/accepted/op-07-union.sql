-- OP-07: UNION ALL of streams by position, with columns of wider types
CREATE STREAMING TABLE t FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME
SELECT region, qty, seq, 'order' AS origin FROM STREAM(orders)
UNION ALL SELECT region, qty, seq, 'refund' FROM STREAM(refunds);
