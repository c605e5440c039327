-- A table whose rows are replaced is streamed into a REPLACE USING flow of its keys and its sequence, and into no other
CREATE STREAMING TABLE t FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME
SELECT region, item, qty, seq, day FROM STREAM(orders);
CREATE STREAMING TABLE appended AS SELECT * FROM STREAM(t);
--                                               ^ STREAM_OF_REPLACED_ROWS
CREATE STREAMING TABLE merged;
CREATE FLOW merged AS AUTO CDC INTO merged FROM STREAM(t) KEYS (region) SEQUENCE BY seq;
--                                              ^ STREAM_OF_REPLACED_ROWS
CREATE STREAMING TABLE v AS SELECT * FROM STREAM(t) WITH (skipChangeCommits = true);
--                                        ^ warning NONDETERMINISTIC
CREATE STREAMING TABLE wider
FLOW REPLACE USING (region, item) SEQUENCE BY seq BY NAME SELECT * FROM STREAM(t);
--   ^ REPLACED_KEYS
CREATE STREAMING TABLE narrower
FLOW REPLACE USING (item) SEQUENCE BY seq BY NAME SELECT * FROM STREAM(t);
--   ^ REPLACED_KEYS
CREATE STREAMING TABLE computed
FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME SELECT upper(region) AS region, seq FROM STREAM(t);
--   ^ REPLACED_KEYS
CREATE STREAMING TABLE swapped FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME
--                                  ^ REPLACED_KEYS
SELECT region, seq FROM STREAM(t) UNION ALL SELECT item, seq FROM STREAM(t);
CREATE STREAMING TABLE ordered
FLOW REPLACE USING (region) SEQUENCE BY day BY NAME SELECT * FROM STREAM(t);
--                                      ^ REPLACED_SEQUENCE
--                                      ^ warning SEQUENCE_COARSE
CREATE STREAMING TABLE shifted
FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME SELECT region, seq + 1 AS seq FROM STREAM(t);
--                                      ^ REPLACED_SEQUENCE
CREATE STREAMING TABLE cut
FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME SELECT * FROM STREAM(t) LIMIT 10;
--                                                                                ^ NOT_SUPPORTED_YET
--                                                                                ^ warning NONDETERMINISTIC
CREATE STREAMING TABLE equal FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME
SELECT DISTINCT region, seq FROM STREAM(orders);
CREATE STREAMING TABLE counted
FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME SELECT region, seq FROM STREAM(equal);
--   ^ NOT_SUPPORTED_YET
