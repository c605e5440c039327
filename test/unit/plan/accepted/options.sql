-- Options with values that they can have
CREATE SOURCE s (a INT, b BIGINT, c TIMESTAMP) WITH (topic = 'other', format = 'json', tombstones = 'bad');
CREATE SOURCE raw WITH (format = 'bytes');
CREATE SOURCE text (line STRING) WITH (format = 'string');
CREATE STREAMING TABLE t
  WITH (topic = 't.v1', partitions = 12, output = 'rows', dead_letter_topic = 't.dlq', max_row_set_rows = 100,
        max_sequence = '9223372036854775000', tombstone_retention = 'forever', ties = 'keep')
FLOW REPLACE USING (a) SEQUENCE BY b BY NAME SELECT * FROM STREAM(s);
CREATE STREAMING TABLE u WITH (max_sequence_ahead = '1 hour 30 minutes', max_event_time_ahead = '1 day', tombstone_retention = 'forever')
FLOW REPLACE USING (a) SEQUENCE BY c BY NAME SELECT * FROM STREAM(s);
