-- Clock and chance are refused in key and sequence, wherever they come from
CREATE STREAMING TABLE t FLOW REPLACE USING (k) SEQUENCE BY seq BY NAME
--                                           ^ KEY_NONDETERMINISTIC
SELECT CAST(current_timestamp() AS STRING) AS k, seq FROM STREAM(orders);
--          ^ warning NONDETERMINISTIC
CREATE STREAMING TABLE u FLOW REPLACE USING (region) SEQUENCE BY s BY NAME
--                                                               ^ SEQUENCE_NONDETERMINISTIC
SELECT region, s FROM (SELECT region, current_timestamp() AS s FROM STREAM(orders));
--                                    ^ warning NONDETERMINISTIC
CREATE STREAMING TABLE w FLOW REPLACE USING (region) SEQUENCE BY seq + unix_micros(current_timestamp()) BY NAME
--                                                               ^ SEQUENCE_NONDETERMINISTIC
SELECT region, seq FROM STREAM(orders);
CREATE STREAMING TABLE x FLOW REPLACE USING (k) SEQUENCE BY seq BY NAME
--                                           ^ KEY_NONDETERMINISTIC
SELECT upper(r.region) AS k, o.seq FROM STREAM(orders) o JOIN refunds r ON o.item = r.item;
--                                      ^ warning STATIC_SIDE
CREATE STREAMING TABLE y FLOW REPLACE USING (region) SEQUENCE BY s BY NAME
--                                                               ^ SEQUENCE_NONDETERMINISTIC
SELECT o.region, r.seq AS s FROM STREAM(orders) o LEFT JOIN refunds r USING (item);
--                               ^ warning STATIC_SIDE
