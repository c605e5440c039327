-- NO-03: ORDER BY is refused, at the top and inside
CREATE STREAMING TABLE t FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME
SELECT region, seq FROM STREAM(orders) ORDER BY seq;
--                                     ^ ORDER_BY_REFUSED
CREATE STREAMING TABLE u FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME
SELECT region, seq FROM (SELECT * FROM STREAM(orders) SORT BY seq);
--                                                    ^ SORT_BY_REFUSED
