-- A table that no flow writes, and that has no columns, is warned of
CREATE STREAMING TABLE idle;
--                     ^ warning TABLE_WITHOUT_FLOW
CREATE STREAMING TABLE declared (a INT);
CREATE MATERIALIZED VIEW m AS SELECT a FROM declared;
