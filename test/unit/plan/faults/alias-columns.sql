-- An alias names every column
CREATE STREAMING TABLE t FLOW REPLACE USING (a) SEQUENCE BY b BY NAME
SELECT a, b FROM (SELECT region, item, seq FROM STREAM(orders)) AS x (a, b);
--                                                                    ^ ALIAS_COLUMNS
