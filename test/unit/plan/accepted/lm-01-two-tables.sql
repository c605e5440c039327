-- LM-01, LM-02, LM-03: one flow for each table, a flow named like its table, a table without a flow
CREATE STREAMING TABLE t;
CREATE FLOW t AS INSERT INTO t BY NAME REPLACE USING (region) SEQUENCE BY seq SELECT region, seq FROM STREAM(orders);
CREATE STREAMING TABLE u;
CREATE FLOW g AS INSERT INTO u BY NAME REPLACE USING (region) SEQUENCE BY seq SELECT region, seq FROM STREAM(orders);
CREATE STREAMING TABLE empty (a INT);
