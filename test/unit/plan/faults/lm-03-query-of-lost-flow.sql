-- LM-03: a flow whose target is missing is checked all the same
CREATE FLOW f AS INSERT INTO t BY NAME REPLACE USING (k) SEQUENCE BY seq
--                           ^ TARGET_UNKNOWN
--                                                    ^ KEY_UNKNOWN
SELECT region, itm, seq FROM STREAM(orders);
--             ^ UNRESOLVED_COLUMN.WITH_SUGGESTION
