-- What reads a table that nothing writes and that has no columns is told so
CREATE STREAMING TABLE idle;
CREATE MATERIALIZED VIEW m AS SELECT * FROM idle;
--                                          ^ TABLE_WITHOUT_FLOW
CREATE STREAMING TABLE t AS SELECT * FROM STREAM(idle);
--                                        ^ NOT_SUPPORTED_YET
