-- OP-11, OP-12: time windows and outer joins of streams need a watermark
CREATE STREAMING TABLE t FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME
SELECT region, seq, window(at, '5 minutes').start AS w FROM STREAM(orders);
--                  ^ WATERMARK_MISSING
CREATE STREAMING TABLE u FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME
SELECT o.region, o.seq FROM STREAM(orders) o LEFT JOIN STREAM(refunds) r ON o.item = r.item;
--                          ^ JOIN_WATERMARK_MISSING
--                                                                          ^ JOIN_TIME_RANGE_MISSING
CREATE STREAMING TABLE v FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME
SELECT o.region, o.seq FROM STREAM(orders) o JOIN STREAM(refunds) r ON o.item = r.item;
--                          ^ NOT_SUPPORTED_YET
