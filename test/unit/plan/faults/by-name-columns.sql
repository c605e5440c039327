-- SX-04: columns are matched by name with the declared ones
CREATE STREAMING TABLE t (region STRING, quantity INT, seq BIGINT)
FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME
SELECT region, qty AS quantiy, seq FROM STREAM(orders);
--             ^ TARGET_COLUMN_UNKNOWN
CREATE STREAMING TABLE u (region STRING, qty BOOLEAN, seq BIGINT)
FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME
SELECT region, qty, seq FROM STREAM(orders);
--             ^ TARGET_COLUMN_TYPE
CREATE STREAMING TABLE w (region STRING, qty INT, seq BIGINT)
FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME
SELECT region, payload AS qty, seq FROM STREAM(orders);
--             ^ TARGET_COLUMN_TYPE
