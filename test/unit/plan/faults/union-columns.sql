-- OP-07: the sides of a union have the same columns
CREATE STREAMING TABLE t FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME
SELECT region, seq FROM STREAM(orders) UNION ALL SELECT region, item, seq FROM STREAM(refunds);
--                                               ^ UNION_COLUMNS
CREATE STREAMING TABLE u FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME
SELECT region, seq, tags FROM STREAM(orders) UNION ALL SELECT region, seq, qty FROM STREAM(refunds);
--                                                                         ^ UNION_TYPE
