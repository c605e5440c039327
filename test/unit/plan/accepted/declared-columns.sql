-- SX-04: a declared column that the query lacks is NULL; others are stored in the declared type
CREATE STREAMING TABLE t (Region STRING, qty BIGINT, note STRING, price DOUBLE, seq BIGINT)
FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME
SELECT seq, price, qty, region FROM STREAM(orders);
