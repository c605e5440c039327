-- OP-06: generators in FROM
CREATE STREAMING TABLE t FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME
SELECT o.region, o.seq, l.sku FROM STREAM(orders) o LEFT JOIN LATERAL inline(o.lines) AS l (sku, n);
CREATE STREAMING TABLE u FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME
SELECT region, seq, key, value FROM (SELECT region, seq, explode_outer(attrs) FROM STREAM(orders));
