-- A CTE that nobody reads has its faults too, and names of WITH stand once
CREATE STREAMING TABLE t FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME
WITH a AS (SELECT reigon FROM STREAM(orders)), static AS (SELECT region FROM orders),
--                ^ UNRESOLVED_COLUMN.WITH_SUGGESTION
     b AS (SELECT region, seq FROM STREAM(orders)), B AS (SELECT region, seq FROM STREAM(orders))
--                                                  ^ NAME_TAKEN
SELECT * FROM b;
