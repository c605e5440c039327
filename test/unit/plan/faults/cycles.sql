-- FL-27: tables and views do not read each other in a circle
CREATE VIEW a AS SELECT * FROM b;
--          ^ TABLE_CYCLE
CREATE VIEW b AS SELECT * FROM a;
CREATE STREAMING TABLE t FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME
--                     ^ TABLE_CYCLE
SELECT region, seq FROM STREAM(t);
