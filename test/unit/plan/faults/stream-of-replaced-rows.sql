-- A table whose rows are replaced is not streamed into a flow that appends
CREATE STREAMING TABLE t FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME
SELECT region, seq FROM STREAM(orders);
CREATE STREAMING TABLE u AS SELECT * FROM STREAM(t);
--                                        ^ STREAM_OF_REPLACED_ROWS
--                                        ^ NOT_SUPPORTED_YET
CREATE STREAMING TABLE v AS SELECT * FROM STREAM(t) WITH (skipChangeCommits = true);
--                                        ^ NOT_SUPPORTED_YET
