-- Subqueries in expressions are refused
CREATE STREAMING TABLE t FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME
SELECT region, seq, (SELECT max(qty) FROM refunds) AS m FROM STREAM(orders)
--                  ^ SUBQUERY_REFUSED
WHERE item IN (SELECT item FROM refunds) AND EXISTS (SELECT 1 FROM refunds);
--    ^ SUBQUERY_REFUSED
--                                           ^ SUBQUERY_REFUSED
