-- OP-06: two generators may follow each other, not three
CREATE SOURCE deep (k INT, s INT, a ARRAY<ARRAY<ARRAY<INT>>>);
CREATE STREAMING TABLE t FLOW REPLACE USING (k) SEQUENCE BY s BY NAME
SELECT k, s, z FROM STREAM(deep)
LATERAL VIEW OUTER explode(a) AS x LATERAL VIEW OUTER explode(x) AS y LATERAL VIEW OUTER explode(y) AS z;
--                                                                                       ^ GENERATORS_NESTED
