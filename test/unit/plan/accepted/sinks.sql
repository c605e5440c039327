-- FL-29 append flows write a sink
CREATE SINK out WITH (topic = 'elsewhere', partitions = 3, dead_letter_topic = 'elsewhere.dlq');
CREATE FLOW f AS INSERT INTO out BY NAME SELECT region, seq FROM STREAM(orders);
CREATE FLOW g AS INSERT INTO out BY NAME SELECT region, seq FROM STREAM(orders);
