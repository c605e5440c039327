-- RQ-04: SEQUENCE BY is required
CREATE STREAMING TABLE t;
CREATE FLOW f AS INSERT INTO t BY NAME REPLACE USING (region)
--                                     ^ SEQUENCE_BY_MISSING
SELECT region, seq FROM STREAM(orders);
