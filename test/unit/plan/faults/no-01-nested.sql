-- NO-01, near miss: the aggregate stands in a CTE that a subquery reads
CREATE STREAMING TABLE t FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME
WITH a AS (SELECT region, sum(qty) AS qty, seq FROM STREAM(orders) GROUP BY ALL)
--                        ^ AGGREGATE_REFUSED
--                                                                 ^ GROUP_BY_REFUSED
SELECT region, seq FROM (SELECT * FROM a WHERE qty > 0);
