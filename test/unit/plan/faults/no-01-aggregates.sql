-- NO-01: aggregates and GROUP BY are refused, each at its place
CREATE STREAMING TABLE t FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME
SELECT region, max(seq) AS seq, 1 + count(*) AS n
--             ^ AGGREGATE_REFUSED
--                                  ^ AGGREGATE_REFUSED
FROM STREAM(orders) GROUP BY region HAVING count(*) > 1;
--                  ^ GROUP_BY_REFUSED
--                                         ^ HAVING_REFUSED
