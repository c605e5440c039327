-- Expectations of views have the faults of those of tables, also where nobody reads the view
CREATE VIEW v (CONSTRAINT a EXPECT (regio IS NULL), CONSTRAINT a EXPECT (seq > 0)) AS
--                                  ^ UNRESOLVED_COLUMN.WITH_SUGGESTION
--                                                             ^ CONSTRAINT_DUPLICATE
SELECT region, seq FROM STREAM(orders);
CREATE VIEW w (CONSTRAINT n EXPECT (seq + 1)) AS SELECT seq FROM STREAM(orders);
--                                  ^ EXPECTATION_TYPE
CREATE STREAMING TABLE t AS SELECT * FROM v;
