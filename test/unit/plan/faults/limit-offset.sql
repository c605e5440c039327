-- OP-05: LIMIT stands at the end of the query, counts rows, and runs as one task; OFFSET never
CREATE STREAMING TABLE t FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME
SELECT region, seq FROM (SELECT * FROM STREAM(orders) LIMIT 10);
--                                                          ^ LIMIT_NESTED
CREATE STREAMING TABLE u FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME
SELECT region, seq FROM STREAM(orders) OFFSET 10;
--                                            ^ OFFSET_REFUSED
CREATE STREAMING TABLE v FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME
SELECT region, seq FROM STREAM(orders) LIMIT seq;
--                                           ^ LIMIT_VALUE
CREATE STREAMING TABLE w WITH (partitions = 3) FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME
--                             ^ LIMIT_PARTITIONS
SELECT region, seq FROM STREAM(orders) LIMIT 10;
--                                           ^ warning NONDETERMINISTIC
CREATE STREAMING TABLE x FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME
SELECT DISTINCT region, seq FROM STREAM(orders) LIMIT 11;
--                                                    ^ NOT_SUPPORTED_YET
--                                                    ^ warning NONDETERMINISTIC
CREATE STREAMING TABLE y AS SELECT region, seq FROM STREAM(orders) LIMIT -1;
--                                                                       ^ LIMIT_VALUE
CREATE STREAMING TABLE z AS SELECT region, seq FROM STREAM(orders) LIMIT 5;
--                                                                       ^ warning NONDETERMINISTIC
