-- Names stand for one thing each, whatever their case
CREATE STREAMING TABLE t;
CREATE VIEW T AS SELECT region, seq FROM STREAM(orders);
--          ^ NAME_TAKEN
CREATE SOURCE ORDERS (a INT);
--            ^ NAME_TAKEN
CREATE STREAMING TABLE u;
CREATE FLOW f AS INSERT INTO t BY NAME REPLACE USING (region) SEQUENCE BY seq SELECT region, seq FROM STREAM(orders);
CREATE FLOW F AS INSERT INTO u BY NAME REPLACE USING (region) SEQUENCE BY seq SELECT region, seq FROM STREAM(orders);
--          ^ FLOW_NAME_TAKEN
CREATE STREAMING TABLE `my table`;
--                     ^ TOPIC_NAME_INVALID
CREATE FLOW `my flow` AS INSERT INTO `my table` BY NAME REPLACE USING (region) SEQUENCE BY seq SELECT region, seq FROM STREAM(orders);
--          ^ FLOW_NAME_INVALID
