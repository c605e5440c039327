-- PIVOT, TABLESAMPLE, recursion and old versions are no streams of rows
CREATE STREAMING TABLE t FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME
SELECT region, seq FROM (SELECT region, seq FROM STREAM(orders)) TABLESAMPLE (10 PERCENT);
--                                                               ^ RELATION_REFUSED
CREATE STREAMING TABLE u FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME
SELECT * FROM STREAM(orders) PIVOT (sum(qty) FOR item IN ('a', 'b'));
--                           ^ RELATION_REFUSED
CREATE STREAMING TABLE v FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME
WITH RECURSIVE r AS (SELECT region, seq FROM STREAM(orders) UNION ALL SELECT region, seq FROM r) SELECT * FROM r;
--   ^ RELATION_REFUSED
