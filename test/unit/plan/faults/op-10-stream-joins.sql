-- OP-10: joins of two streams compare something by =, and what they compare stays the same
CREATE STREAMING TABLE t FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME
SELECT o.region, o.seq FROM STREAM(orders) o JOIN STREAM(refunds) r ON o.item < r.item;
--                          ^ JOIN_EQUALITY_MISSING
CREATE STREAMING TABLE u FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME
SELECT o.region, o.seq FROM (SELECT *, now() AS clock FROM STREAM(orders)) o
--                          ^ JOIN_NONDETERMINISTIC
JOIN STREAM(refunds) r ON o.item = r.item AND unix_seconds(o.clock) = r.seq;
CREATE STREAMING TABLE v FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME
SELECT o.region, o.seq FROM STREAM(orders) o LEFT SEMI JOIN STREAM(refunds) r ON o.item = r.item;
--                          ^ JOIN_STREAM_HALF
CREATE STREAMING TABLE w FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME
SELECT o.region, o.seq FROM (SELECT DISTINCT region, item, seq FROM STREAM(orders)) o
--                           ^ NOT_SUPPORTED_YET
--                          ^ warning JOIN_STATE_UNBOUNDED
JOIN STREAM(refunds) r USING (item);
CREATE STREAMING TABLE newest FLOW REPLACE USING (item) SEQUENCE BY seq BY NAME SELECT item, seq FROM STREAM(refunds);
CREATE STREAMING TABLE y FLOW REPLACE USING (item) SEQUENCE BY seq BY NAME
SELECT item, seq FROM STREAM(newest) n JOIN STREAM(refunds) r USING (item, seq);
--                    ^ STREAM_OF_REPLACED_ROWS
--                    ^ warning JOIN_STATE_UNBOUNDED
