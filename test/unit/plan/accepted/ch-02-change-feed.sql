-- CH-02: a source that looks like Debezium is told to be a change feed
CREATE SOURCE raw (id INT, op STRING, before STRUCT<id: INT>, after STRUCT<id: INT>, ts_ms BIGINT);
CREATE STREAMING TABLE r FLOW REPLACE USING (id) SEQUENCE BY ts_ms BY NAME
--                            ^ warning CDC_FEED
SELECT after.id AS id, ts_ms FROM STREAM(raw);
CREATE STREAMING TABLE p;
CREATE FLOW p_cdc AS AUTO CDC INTO p FROM STREAM(raw) KEYS (id) SEQUENCE BY ts_ms;
--                                        ^ warning CDC_FEED
