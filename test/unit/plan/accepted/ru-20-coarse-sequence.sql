-- RU-20: a sequence by date or in whole seconds is warned of
CREATE STREAMING TABLE t FLOW REPLACE USING (region) SEQUENCE BY day BY NAME
--                                                               ^ warning SEQUENCE_COARSE
SELECT region, day FROM STREAM(orders);
CREATE STREAMING TABLE u FLOW REPLACE USING (region) SEQUENCE BY s BY NAME
--                                                               ^ warning SEQUENCE_COARSE
SELECT region, timestamp_seconds(seq) AS s FROM STREAM(orders);
CREATE STREAMING TABLE v FLOW REPLACE USING (region) SEQUENCE BY s BY NAME
--                                                               ^ warning SEQUENCE_COARSE
SELECT region, s FROM (SELECT region, date_trunc('HOUR', at) AS s FROM STREAM(orders));
CREATE STREAMING TABLE w FLOW REPLACE USING (region) SEQUENCE BY at BY NAME
SELECT region, at FROM STREAM(orders);
