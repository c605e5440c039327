-- RU-20: offset, partition and time of the record may be selected, and be the sequence
CREATE STREAMING TABLE t
FLOW REPLACE USING (region) SEQUENCE BY off BY NAME
SELECT region, item, _offset AS off, _partition AS part, _timestamp, _topic, _key, _headers FROM STREAM(orders) o
WHERE o._offset >= 0;
