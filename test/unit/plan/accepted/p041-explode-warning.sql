-- P041, OP-06: EXPLODE of what may be empty is warned of, the outer form is not
CREATE STREAMING TABLE t FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME
SELECT region, explode(tags) AS tag, seq FROM STREAM(orders);
--                     ^ warning EXPLODE_EMPTY
CREATE STREAMING TABLE u FLOW REPLACE USING (region) SEQUENCE BY seq APPLY AS EMPTY WHEN (tag IS NULL) BY NAME
SELECT region, explode_outer(tags) AS tag, seq FROM STREAM(orders);
CREATE STREAMING TABLE v FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME
SELECT region, explode(array(item, 'x')) AS tag, seq FROM STREAM(orders);
CREATE STREAMING TABLE w FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME
SELECT o.region, l.sku, n, o.seq FROM STREAM(orders) o LATERAL VIEW posexplode(o.lines) x AS n, l;
--                                                                             ^ warning EXPLODE_EMPTY
