-- RQ-02: the source of a REPLACE USING flow is a stream
CREATE STREAMING TABLE t
FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME
SELECT region, seq FROM orders;
--                      ^ SOURCE_NOT_STREAMING
