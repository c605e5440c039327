-- FL-09, FL-29: sinks come later; one without a flow is warned of
CREATE SINK idle OPTIONS ('topic' = 'x');
--          ^ NOT_SUPPORTED_YET
--          ^ warning SINK_WITHOUT_FLOW
CREATE SINK out OPTIONS ('topic' = 'y');
--          ^ NOT_SUPPORTED_YET
CREATE FLOW f AS INSERT INTO out BY NAME SELECT region, seq FROM STREAM(orders);
-- @1 NOT_SUPPORTED_YET
CREATE FLOW g AS AUTO CDC INTO out FROM STREAM(orders) KEYS (region) SEQUENCE BY seq;
-- @1 NOT_SUPPORTED_YET
--                             ^ TARGET_KIND
CREATE FLOW h AS INSERT INTO out BY NAME REPLACE USING (region) SEQUENCE BY seq SELECT region, seq FROM STREAM(orders);
--                           ^ TARGET_KIND
