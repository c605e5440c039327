-- Conditions are booleans
CREATE STREAMING TABLE t (CONSTRAINT c EXPECT (qty) ON VIOLATION DROP ROW)
--                                             ^ EXPECTATION_TYPE
FLOW REPLACE USING (region) SEQUENCE BY seq APPLY AS EMPTY WHEN (qty) BY NAME
--                                                               ^ EMPTY_WHEN_TYPE
SELECT region, qty, seq FROM STREAM(orders) WHERE qty;
--                                                ^ DATATYPE_MISMATCH.FILTER_NOT_BOOLEAN
