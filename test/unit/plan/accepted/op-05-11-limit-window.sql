-- OP-05, OP-11: LIMIT at the end; windows over a stream with a watermark
CREATE STREAMING TABLE t FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME
SELECT region, seq FROM STREAM(orders) LIMIT 2 * 5;
--                                           ^ warning NONDETERMINISTIC
CREATE STREAMING TABLE u FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME
SELECT region, seq, window(at, '5 minutes') AS w, window(at, '5 minutes').end AS till
FROM STREAM(orders) WATERMARK at DELAY OF INTERVAL 10 SECONDS WHERE window(at, '5 minutes').start > '2020-01-01';
CREATE STREAMING TABLE v AS SELECT *, window(at, '10 minutes', '5 minutes') FROM STREAM(orders) WATERMARK at DELAY OF INTERVAL '1' DAY;
