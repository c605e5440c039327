-- EX-11: expectations live on the target; on a flow they are no syntax
CREATE STREAMING TABLE t;
CREATE FLOW f (CONSTRAINT c EXPECT (seq > 0)) AS INSERT INTO t BY NAME REPLACE USING (region) SEQUENCE BY seq
--            ^ PARSE_SYNTAX_ERROR
SELECT region, seq FROM STREAM(orders);
