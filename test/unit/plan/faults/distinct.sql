-- OP-04: DISTINCT stands outside and can compare every column
CREATE STREAMING TABLE t FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME
SELECT region, seq FROM (SELECT DISTINCT region, item, seq FROM STREAM(orders));
--                       ^ DISTINCT_NESTED
CREATE STREAMING TABLE u FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME
SELECT DISTINCT region, seq, attrs FROM STREAM(orders);
--                           ^ DISTINCT_TYPE
CREATE STREAMING TABLE v (region STRING, price DECIMAL(10,1), seq BIGINT)
FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME
SELECT DISTINCT region, price, seq FROM STREAM(orders);
--                      ^ DISTINCT_CAST
--                      ^ warning TARGET_COLUMN_NARROW
CREATE STREAMING TABLE w FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME
SELECT DISTINCT region, seq FROM STREAM(orders) UNION ALL SELECT region, seq FROM STREAM(refunds);
-- @1 DISTINCT_NESTED
