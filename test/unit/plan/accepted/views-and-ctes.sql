-- Views and CTEs are inlined; a view may be read before it is created, and STREAM(view) streams it
CREATE STREAMING TABLE t FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME
WITH a AS (SELECT * FROM big), b (r, s) AS (SELECT region, seq FROM a)
SELECT r AS region, s AS seq FROM b;
CREATE TEMPORARY VIEW big AS SELECT region, seq FROM STREAM(orders) WHERE qty > 100;
CREATE VIEW plain AS SELECT region, seq FROM orders;
CREATE STREAMING TABLE u FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME
SELECT * FROM STREAM(plain);
