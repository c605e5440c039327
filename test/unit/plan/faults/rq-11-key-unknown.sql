-- RQ-11: key and sequence are columns of the query's result
CREATE STREAMING TABLE t FLOW REPLACE USING (regoin) SEQUENCE BY sec BY NAME
--                                           ^ KEY_UNKNOWN
--                                                               ^ SEQUENCE_UNKNOWN
SELECT region, seq FROM STREAM(orders);
CREATE STREAMING TABLE u FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME
--                                                               ^ SEQUENCE_UNKNOWN
SELECT region FROM STREAM(orders);
CREATE STREAMING TABLE w FLOW REPLACE USING (region) SEQUENCE BY secc + 1 BY NAME
--                                                               ^ UNRESOLVED_COLUMN.WITH_SUGGESTION
SELECT region, seq FROM STREAM(orders);
