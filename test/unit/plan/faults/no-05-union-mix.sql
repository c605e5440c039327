-- NO-05: a union of a stream with what is none
CREATE STREAMING TABLE t FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME
SELECT region, seq FROM STREAM(orders) UNION ALL SELECT region, seq FROM refunds;
--                                               ^ UNION_MIX
CREATE STREAMING TABLE u FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME
VALUES ('EU', 0L) UNION ALL SELECT region, seq FROM STREAM(orders);
-- @1 UNION_MIX
