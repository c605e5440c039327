-- FL-24 and the clauses of AUTO CDC
CREATE STREAMING TABLE t;
CREATE FLOW f AS AUTO CDC INTO t FROM STREAM(orders) SEQUENCE BY seq;
-- @1 NOT_SUPPORTED_YET
--               ^ CDC_KEYS_MISSING
CREATE FLOW g AS AUTO CDC INTO t FROM STREAM(orders) KEYS (region);
-- @1 NOT_SUPPORTED_YET
--               ^ SEQUENCE_BY_MISSING
CREATE FLOW h AS AUTO CDC ONCE INTO t FROM STREAM(orders) KEYS (region) SEQUENCE BY seq TRACK HISTORY ON (item);
-- @1 NOT_SUPPORTED_YET
--                                                                                                       ^ CDC_HISTORY_ONLY
