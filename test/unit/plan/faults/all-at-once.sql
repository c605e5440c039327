-- All faults are told at once, over all statements
CREATE STREAMING TABLE t (CONSTRAINT c EXPECT (nope > 0))
--                                             ^ UNRESOLVED_COLUMN.WITH_SUGGESTION
FLOW REPLACE USING (regio, item, Item) SEQUENCE BY seq, at
--   ^ BY_NAME_MISSING
--                  ^ KEY_UNKNOWN
--                               ^ KEY_DUPLICATE
--                                                      ^ SEQUENCE_BY_COUNT
SELECT region, itm AS item, seq, at FROM STREAM(orders) ORDER BY seq;
--             ^ UNRESOLVED_COLUMN.WITH_SUGGESTION
--                                                      ^ ORDER_BY_REFUSED
CREATE FLOW f AS INSERT INTO tt BY NAME REPLACE USING (region) SEQUENCE BY seq
--                           ^ TARGET_UNKNOWN
SELECT region, seq FROM STREAM(orders);
