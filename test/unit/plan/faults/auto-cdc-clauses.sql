-- FL-24 and the clauses of AUTO CDC
CREATE STREAMING TABLE t;
CREATE FLOW f AS AUTO CDC INTO t FROM STREAM(orders) SEQUENCE BY seq;
--               ^ CDC_KEYS_MISSING
CREATE FLOW g AS AUTO CDC INTO t FROM STREAM(orders) KEYS (region);
--               ^ SEQUENCE_BY_MISSING
CREATE FLOW h AS AUTO CDC ONCE INTO t FROM STREAM(orders) KEYS (region) SEQUENCE BY seq TRACK HISTORY ON (item);
--                                                                                                       ^ CDC_HISTORY_ONLY
CREATE STREAMING TABLE u;
CREATE FLOW i AS AUTO CDC INTO u FROM STREAM(orders) KEYS (region, attrs, nothing) SEQUENCE BY attrs COLUMNS * EXCEPT (nope);
--                                                                 ^ KEY_TYPE
--                                                                        ^ KEY_UNKNOWN
--                                                                                             ^ SEQUENCE_TYPE
--                                                                                                                     ^ CDC_COLUMN_UNKNOWN
CREATE STREAMING TABLE w;
CREATE FLOW j AS AUTO CDC INTO w FROM STREAM(refunds) KEYS (region) APPLY AS DELETE WHEN qty SEQUENCE BY seq;
--                                                                                       ^ CDC_WHEN_TYPE
CREATE FLOW k AS AUTO CDC INTO w FROM STREAM(refunds) KEYS (item) SEQUENCE BY item STORED AS SCD TYPE 2;
-- @1 CDC_FLOWS_DIFFER
CREATE STREAMING TABLE x (region STRING, seq BIGINT);
--                     ^ CDC_HISTORY_COLUMNS
CREATE FLOW l AS AUTO CDC INTO x FROM STREAM(refunds) KEYS (region) SEQUENCE BY seq COLUMNS (region, seq) STORED AS SCD TYPE 2;
CREATE STREAMING TABLE numbered WITH (output = 'rows');
--                                    ^ OPTION_VALUE
CREATE FLOW numbered AS AUTO CDC INTO numbered FROM STREAM(orders) KEYS (region) SEQUENCE BY seq;
