-- FL-23, FL-24, FL-26 and the clauses of AUTO CDC
CREATE STREAMING TABLE t;
CREATE FLOW f AS AUTO CDC INTO t FROM STREAM(orders) KEYS (region) SEQUENCE BY seq;
CREATE FLOW g AS INSERT INTO t BY NAME SELECT region, seq FROM STREAM(refunds);
-- @1 CDC_MIX
CREATE VIEW v AS SELECT region, seq FROM STREAM(orders);
CREATE FLOW h AS AUTO CDC INTO v FROM STREAM(orders) KEYS (region) SEQUENCE BY seq;
--                             ^ TARGET_KIND
CREATE STREAMING TABLE u;
CREATE FLOW i AS AUTO CDC INTO u FROM orders KEYS (region) SEQUENCE BY seq;
--                                    ^ SOURCE_NOT_STREAMING
CREATE STREAMING TABLE w;
CREATE FLOW j AS AUTO CDC INTO w FROM STREAM(orders) KEYS (region) APPLY AS TRUNCATE WHEN item = 't' SEQUENCE BY seq STORED AS SCD TYPE 2;
--                                                                                        ^ CDC_TRUNCATE_HISTORY
