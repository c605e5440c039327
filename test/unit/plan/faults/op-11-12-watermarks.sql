-- OP-11, OP-12: time windows and outer joins of streams need a watermark
CREATE STREAMING TABLE t FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME
SELECT region, seq, window(at, '5 minutes').start AS w FROM STREAM(orders);
--                  ^ WATERMARK_MISSING
CREATE STREAMING TABLE u FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME
SELECT o.region, o.seq FROM STREAM(orders) o LEFT JOIN STREAM(refunds) r ON o.item = r.item;
--                          ^ JOIN_WATERMARK_MISSING
--                                                                          ^ JOIN_TIME_RANGE_MISSING
CREATE STREAMING TABLE w FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME
SELECT region, seq FROM STREAM(orders) WATERMARK qty DELAY OF INTERVAL 1 MINUTE;
--                                               ^ WATERMARK_INVALID
CREATE STREAMING TABLE x FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME
SELECT region, seq, window(at, '1 hour').start AS a, window(at, '1 day').start AS b
--                                                   ^ TIME_WINDOWS
FROM STREAM(orders) WATERMARK at DELAY OF INTERVAL 1 MINUTE;
CREATE STREAMING TABLE y FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME
SELECT region, seq, session_window(at, '1 hour').start AS a
--                  ^ NOT_SUPPORTED_YET
FROM STREAM(orders) WATERMARK at DELAY OF INTERVAL 1 MINUTE;
