-- read_kafka gives raw records with the columns of Databricks
CREATE STREAMING TABLE t FLOW REPLACE USING (k) SEQUENCE BY off BY NAME
SELECT CAST(key AS STRING) AS k, CAST(value AS STRING) AS v, topic, partition, offset AS off, timestamp, timestampType
FROM STREAM read_kafka(subscribe => 'events', startingOffsets => 'earliest');
