-- NO-05, NO-07, NO-08, near miss: STREAM around a view whose query says itself what a stream is
CREATE SOURCE dims (code STRING, name STRING);
CREATE VIEW on_the_right AS SELECT o.region, o.seq FROM dims d JOIN STREAM(orders) o ON o.region = d.code;
--                                                      ^ JOIN_STREAM_RIGHT
CREATE VIEW full_join AS SELECT o.region, o.seq FROM STREAM(orders) o FULL JOIN dims d ON o.region = d.code;
--                                                   ^ JOIN_STATIC_OUTER
CREATE VIEW mixed AS SELECT region, seq FROM STREAM(orders) UNION ALL SELECT region, seq FROM refunds;
--                                                                    ^ UNION_MIX
CREATE STREAMING TABLE a FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME
SELECT region, seq FROM STREAM(on_the_right);
CREATE STREAMING TABLE b FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME
WITH c AS (SELECT * FROM full_join) SELECT region, seq FROM STREAM(c);
CREATE STREAMING TABLE c FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME
FROM STREAM(mixed) |> SELECT region, seq;
