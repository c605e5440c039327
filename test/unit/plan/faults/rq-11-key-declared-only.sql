-- RQ-11, near miss: the target declares key and sequence, the query does not give them
CREATE STREAMING TABLE t (region STRING, item STRING, seq BIGINT)
FLOW REPLACE USING (region, item) SEQUENCE BY seq BY NAME
--                          ^ KEY_UNKNOWN
--                                            ^ SEQUENCE_UNKNOWN
SELECT region FROM STREAM(orders);
