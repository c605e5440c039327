-- RQ-05: key columns are not repeated, whatever their case
CREATE STREAMING TABLE t
FLOW REPLACE USING (region, item, region) SEQUENCE BY seq BY NAME
--                                ^ KEY_DUPLICATE
SELECT region, item, seq FROM STREAM(orders);
CREATE STREAMING TABLE u
FLOW REPLACE USING (region, REGION) SEQUENCE BY seq BY NAME
--                          ^ KEY_DUPLICATE
SELECT region, seq FROM STREAM(orders);
