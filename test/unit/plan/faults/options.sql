-- Options have known names and values that they can have
CREATE SOURCE s (a INT) WITH (topik = 'x', format = 'jsno', tombstones = 'keep');
--                            ^ OPTION_UNKNOWN
--                                         ^ OPTION_VALUE
--                                                          ^ OPTION_VALUE
CREATE STREAMING TABLE t WITH (
  partition = 3,
-- @3 OPTION_UNKNOWN
  partitions = 0,
-- @3 OPTION_VALUE
  output = 'row',
-- @3 OPTION_VALUE
  dead_letter_topic = 'a b',
-- @3 TOPIC_NAME_INVALID
  max_row_set_rows = 1.5,
-- @3 OPTION_VALUE
  max_sequence_ahead = '1 month',
-- @3 OPTION_VALUE
  partitions = 4
-- @3 OPTION_DUPLICATE
);
CREATE STREAMING TABLE u WITH (max_sequence_ahead = '1 day')
--                             ^ OPTION_VALUE
FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME SELECT region, seq FROM STREAM(orders);
CREATE STREAMING TABLE v WITH (max_sequence = '10')
--                             ^ OPTION_VALUE
FLOW REPLACE USING (region) SEQUENCE BY at BY NAME SELECT region, at FROM STREAM(orders);
CREATE STREAMING TABLE w FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME
SELECT region, seq FROM STREAM(orders) WITH (skipChangeCommit = true);
--                                           ^ OPTION_UNKNOWN
