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
-- An append flow is checked like one that has its target, and nothing else is told of it
CREATE FLOW i AS INSERT INTO nowhere BY NAME SELECT region FROM STREAM(orders);
--                           ^ TARGET_UNKNOWN
CREATE FLOW j AS INSERT INTO nowhere BY NAME SELECT regio FROM STREAM(orders);
--                           ^ TARGET_UNKNOWN
--                                                  ^ UNRESOLVED_COLUMN.WITH_SUGGESTION
CREATE FLOW l AS INSERT INTO v BY NAME SELECT region FROM STREAM(orders);
--                           ^ TARGET_KIND
CREATE FLOW m AS INSERT INTO ONCE nowhere BY NAME SELECT region FROM orders;
--                                ^ TARGET_UNKNOWN
