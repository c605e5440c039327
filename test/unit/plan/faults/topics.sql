-- A topic is written by one table and read by none that writes it
CREATE STREAMING TABLE a WITH (topic = 'same');
CREATE STREAMING TABLE b WITH (topic = 'same');
--                     ^ TOPIC_TAKEN
CREATE STREAMING TABLE c WITH (topic = 'orders');
--                     ^ TOPIC_TAKEN
CREATE STREAMING TABLE d WITH (dead_letter_topic = 'a');
--                             ^ TOPIC_TAKEN
CREATE STREAMING TABLE e WITH (topic = 'a');
