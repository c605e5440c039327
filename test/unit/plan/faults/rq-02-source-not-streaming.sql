-- RQ-02: the source of a REPLACE USING flow is a stream
CREATE STREAMING TABLE t
FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME
SELECT region, seq FROM orders;
--                      ^ SOURCE_NOT_STREAMING
-- What else is wrong is told with it, as if STREAM stood there.
CREATE STREAMING TABLE u
FLOW REPLACE USING (regio) SEQUENCE BY sq BY NAME
--                  ^ KEY_UNKNOWN
--                                     ^ SEQUENCE_UNKNOWN
SELECT region, upper(itm) AS item, seq FROM orders;
--                   ^ UNRESOLVED_COLUMN.WITH_SUGGESTION
--                                          ^ SOURCE_NOT_STREAMING
CREATE STREAMING TABLE v;
CREATE FLOW fv AS INSERT INTO v BY NAME SELECT region FROM t;
--                                                         ^ SOURCE_NOT_STREAMING
--                                                         ^ STREAM_OF_REPLACED_ROWS
