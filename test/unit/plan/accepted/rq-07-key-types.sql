-- RQ-06, RQ-07: every atomic type may be a key, and arrays and structs of them
CREATE SOURCE typed (
  a BOOLEAN, b TINYINT, c SMALLINT, d INT, e BIGINT, f FLOAT, g DOUBLE, h DECIMAL(38,10), i STRING, j BINARY,
  k DATE, l TIMESTAMP, m TIMESTAMP_NTZ, n ARRAY<INT>, o STRUCT<x: INT, y: ARRAY<STRING>>, s BIGINT
);
CREATE STREAMING TABLE t
FLOW REPLACE USING (a, b, c, d, e, f, g, h, i, j, k, l, m, n, o) SEQUENCE BY s BY NAME
SELECT * FROM STREAM(typed);
