-- read_kafka says which topic, and starts at its beginning
CREATE STREAMING TABLE t FLOW REPLACE USING (k) SEQUENCE BY off BY NAME
SELECT CAST(key AS STRING) AS k, offset AS off FROM STREAM read_kafka(bootstrapServers => 'h:9092');
--                                                         ^ OPTION_VALUE
--                                                                    ^ warning CLAUSE_IGNORED
CREATE STREAMING TABLE u FLOW REPLACE USING (k) SEQUENCE BY off BY NAME
SELECT CAST(key AS STRING) AS k, offset AS off FROM STREAM(read_kafka(subscribe => 'a', startingOffsets => 'latest'));
--                                                                                                         ^ OPTION_VALUE
CREATE STREAMING TABLE v FLOW REPLACE USING (k) SEQUENCE BY off BY NAME
SELECT CAST(key AS STRING) AS k, offset AS off FROM read_kafka(subscribe => 'a');
--                                                  ^ SOURCE_NOT_STREAMING
CREATE STREAMING TABLE w FLOW REPLACE USING (k) SEQUENCE BY off BY NAME
SELECT CAST(key AS STRING) AS k, offset AS off FROM STREAM(read_kafka(subscibe => 'a', subscribe => 'a,b'));
--                                                                    ^ OPTION_UNKNOWN
--                                                                                                  ^ NOT_SUPPORTED_YET
