-- OP-05: LIMIT comes later, OFFSET never
CREATE STREAMING TABLE t FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME
SELECT region, seq FROM STREAM(orders) LIMIT 10;
--                                           ^ NOT_SUPPORTED_YET
CREATE STREAMING TABLE u FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME
SELECT region, seq FROM STREAM(orders) OFFSET 10;
--                                            ^ OFFSET_REFUSED
