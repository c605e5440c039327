-- RQ-02, near miss: the view reads no stream, and is not read as one
CREATE VIEW v AS SELECT region, seq FROM orders WHERE qty > 0;
--                                       ^ SOURCE_NOT_STREAMING
CREATE STREAMING TABLE t
FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME
SELECT * FROM v;
