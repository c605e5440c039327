-- LM-01, near miss: the first flow is the table's own, the target is written in another case
CREATE STREAMING TABLE t
FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME SELECT region, seq FROM STREAM(orders);
CREATE FLOW g AS INSERT INTO T BY NAME REPLACE USING (region) SEQUENCE BY seq
-- @1 SECOND_REPLACE_FLOW
SELECT region, seq FROM STREAM(refunds);
