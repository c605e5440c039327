-- FL-09, FL-29: what a sink cannot be; one without a flow is warned of
CREATE SINK idle WITH (topic = 'x');
--          ^ warning SINK_WITHOUT_FLOW
CREATE SINK out OPTIONS ('topic' = 'y', output = 'rows');
--                                      ^ OPTION_UNKNOWN
CREATE FLOW f AS INSERT INTO out BY NAME SELECT region, seq FROM STREAM(orders);
CREATE FLOW g AS AUTO CDC INTO out FROM STREAM(orders) KEYS (region) SEQUENCE BY seq;
--                             ^ TARGET_KIND
CREATE FLOW h AS INSERT INTO out BY NAME REPLACE USING (region) SEQUENCE BY seq SELECT region, seq FROM STREAM(orders);
--                           ^ TARGET_KIND
CREATE SINK judged (CONSTRAINT c EXPECT (seq > 0));
--                  ^ SINK_CONSTRAINT
CREATE FLOW j AS INSERT INTO judged BY NAME SELECT seq FROM STREAM(orders);
CREATE STREAMING TABLE t AS SELECT * FROM STREAM(out);
--                                               ^ SOURCE_NOT_STREAMING
CREATE SINK twin WITH (topic = 'y');
--          ^ TOPIC_TAKEN
CREATE FLOW k AS INSERT INTO twin BY NAME SELECT seq FROM STREAM(orders);
