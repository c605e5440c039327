-- FL-16: a flow that runs once is a batch, and reads without STREAM
CREATE STREAMING TABLE t;
CREATE FLOW f AS INSERT INTO ONCE t BY NAME SELECT region, seq FROM STREAM(orders);
--                                                                  ^ STREAM_IN_ONCE
CREATE VIEW v AS SELECT region, seq FROM STREAM(orders);
CREATE FLOW g AS INSERT INTO ONCE t BY NAME SELECT region, seq FROM v;
