-- Columns of the result have one name each, and a type
CREATE STREAMING TABLE t FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME
SELECT region, seq, qty, price AS QTY FROM STREAM(orders);
--                       ^ OUTPUT_COLUMN_DUPLICATE
CREATE STREAMING TABLE v FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME
SELECT region, seq, NULL AS nothing FROM STREAM(orders);
--                  ^ OUTPUT_COLUMN_UNTYPED
