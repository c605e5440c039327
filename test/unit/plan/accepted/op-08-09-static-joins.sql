-- OP-08, OP-09: a stream on the left, static data on the right; several of them, and over a view
CREATE VIEW dims AS SELECT item, region AS home FROM refunds WHERE seq > 0;
CREATE STREAMING TABLE t FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME
SELECT o.region, o.seq, d.home, r._offset AS at FROM STREAM(orders) o JOIN dims d ON o.item = d.item
--                                                   ^ warning STATIC_SIDE
--                                                   ^ warning STATIC_SIDE
LEFT JOIN refunds r ON r.item = o.item AND r.seq < o.seq;
CREATE STREAMING TABLE u FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME
SELECT * FROM STREAM(orders) LEFT SEMI JOIN refunds USING (item);
--            ^ warning STATIC_SIDE
CREATE STREAMING TABLE v FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME
SELECT o.region, o.seq FROM STREAM(orders) o, refunds r WHERE o.item = r.item;
--                                            ^ warning STATIC_SIDE
