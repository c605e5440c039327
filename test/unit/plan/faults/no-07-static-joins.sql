-- NO-07, NO-08: right and full joins with static data, and a stream on the right
CREATE STREAMING TABLE t FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME
SELECT o.region, o.seq FROM STREAM(orders) o RIGHT JOIN refunds r ON o.item = r.item;
--                          ^ JOIN_STATIC_OUTER
CREATE STREAMING TABLE u FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME
SELECT o.region, o.seq FROM STREAM(orders) o FULL JOIN refunds r ON o.item = r.item;
--                          ^ JOIN_STATIC_OUTER
CREATE STREAMING TABLE v FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME
SELECT o.region, o.seq FROM refunds r JOIN STREAM(orders) o ON o.item = r.item;
--                          ^ JOIN_STREAM_RIGHT
CREATE STREAMING TABLE w FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME
SELECT o.region, o.seq FROM STREAM(orders) o LEFT JOIN (VALUES (1)) AS r(item) ON o.seq = r.item;
--                                                      ^ NOT_SUPPORTED_YET
CREATE STREAMING TABLE x FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME
SELECT o.region, o.seq FROM STREAM(orders) o JOIN (SELECT DISTINCT item FROM refunds) r ON o.item = r.item;
--                                                 ^ STATIC_DISTINCT
CREATE SOURCE regions (region STRING, seq BIGINT) WITH (file = 'regions.jsonl');
CREATE STREAMING TABLE y FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME
SELECT region, seq FROM STREAM(regions);
--                             ^ FILE_NOT_STREAMING
