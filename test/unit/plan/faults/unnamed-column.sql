-- BY NAME needs names
CREATE STREAMING TABLE t FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME
SELECT region, seq, qty + 1 FROM STREAM(orders);
--                  ^ OUTPUT_COLUMN_UNNAMED
CREATE STREAMING TABLE u FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME
SELECT * FROM (SELECT region, CAST(seq AS INT), upper(item) FROM STREAM(orders));
--                                              ^ OUTPUT_COLUMN_UNNAMED
