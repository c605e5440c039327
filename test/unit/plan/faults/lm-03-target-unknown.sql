-- LM-03: the target is created in the pipeline
CREATE STREAMING TABLE orders_current;
CREATE FLOW f AS INSERT INTO order_current BY NAME REPLACE USING (region) SEQUENCE BY seq
--                           ^ TARGET_UNKNOWN
SELECT region, seq FROM STREAM(orders);
CREATE VIEW v AS SELECT region, seq FROM STREAM(orders);
CREATE FLOW g AS INSERT INTO v BY NAME REPLACE USING (region) SEQUENCE BY seq
--                           ^ TARGET_KIND
SELECT region, seq FROM STREAM(orders);
CREATE FLOW h AS INSERT INTO refunds BY NAME REPLACE USING (region) SEQUENCE BY seq
--                           ^ TARGET_KIND
SELECT region, seq FROM STREAM(orders);
