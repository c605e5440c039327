-- A table is read by its name, not past it by its topic
CREATE STREAMING TABLE t WITH (topic = 'events') FLOW REPLACE USING (k) SEQUENCE BY off BY NAME
--                     ^ TOPIC_TAKEN
SELECT CAST(key AS STRING) AS k, offset AS off FROM STREAM read_kafka(subscribe => 'events');
