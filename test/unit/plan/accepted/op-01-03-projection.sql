-- OP-01, OP-02, OP-03: projection, aliases, stars, lateral aliases, WHERE, scalar expressions
CREATE STREAMING TABLE t FLOW REPLACE USING (k) SEQUENCE BY seq BY NAME
SELECT region AS k, seq, qty * 2 AS twice, twice + 1 AS more, CASE WHEN qty > 10 THEN 'big' ELSE 'small' END AS size
FROM STREAM(orders) WHERE qty > 0 AND item IS NOT NULL;
CREATE STREAMING TABLE u FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME
SELECT o.* EXCEPT (attrs, doc), o.customer.id AS customer_id FROM STREAM(orders) AS o;
CREATE STREAMING TABLE v FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME
SELECT region, seq, customer.* FROM STREAM(orders);
