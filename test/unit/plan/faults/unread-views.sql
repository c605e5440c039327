-- A view that nobody reads is checked, whether it is read as a stream or as it stands
CREATE VIEW still AS SELECT nope FROM orders;
--                          ^ UNRESOLVED_COLUMN.WITH_SUGGESTION
CREATE VIEW counted AS SELECT region, count(*) AS n FROM orders GROUP BY region;
CREATE VIEW ranked AS SELECT region, sum(nope) AS n FROM orders GROUP BY region;
--                                       ^ UNRESOLVED_COLUMN.WITH_SUGGESTION
CREATE STREAMING TABLE t AS SELECT region, seq FROM STREAM(orders);
CREATE VIEW streamed AS SELECT nope FROM STREAM(t);
--                             ^ UNRESOLVED_COLUMN.WITH_SUGGESTION
CREATE VIEW fine AS SELECT region FROM STREAM(t);
