-- RQ-02, near miss: the stream is missing inside a CTE and inside a subquery
CREATE STREAMING TABLE t
FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME
WITH a AS (SELECT * FROM orders)
--                       ^ SOURCE_NOT_STREAMING
SELECT region, seq FROM a;
CREATE STREAMING TABLE u
FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME
SELECT * FROM (SELECT region, seq FROM (SELECT * FROM refunds));
--                                                    ^ SOURCE_NOT_STREAMING
