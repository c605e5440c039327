-- EX-11 and the rules of expectations: over the columns of the target, one row at a time
CREATE STREAMING TABLE t (
  CONSTRAINT a EXPECT (qty > 0),
  CONSTRAINT A EXPECT (qty < 10) ON VIOLATION DROP ROW,
--           ^ CONSTRAINT_DUPLICATE
  CONSTRAINT b EXPECT (price > 0) ON VIOLATION FAIL UPDATE,
--                     ^ UNRESOLVED_COLUMN.WITH_SUGGESTION
  CONSTRAINT c EXPECT (max(qty) > 0),
--                     ^ AGGREGATE_REFUSED
  CONSTRAINT d EXPECT (EXISTS (SELECT 1 FROM refunds))
--                     ^ SUBQUERY_REFUSED
)
FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME
SELECT region, qty, seq FROM STREAM(orders);
CREATE SOURCE s (a INT, CONSTRAINT c EXPECT (a > 0));
--                      ^ SOURCE_CONSTRAINT
