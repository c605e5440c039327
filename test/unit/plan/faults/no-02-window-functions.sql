-- NO-02: window functions are refused, ranking with a hint of its own
CREATE STREAMING TABLE t FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME
SELECT region, seq, row_number() OVER (PARTITION BY region ORDER BY seq) AS n FROM STREAM(orders);
--                  ^ WINDOW_FUNCTION_REFUSED
CREATE STREAMING TABLE u FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME
SELECT region, seq FROM STREAM(orders) QUALIFY row_number() OVER (PARTITION BY region ORDER BY seq DESC) = 1;
--                                             ^ QUALIFY_REFUSED
CREATE STREAMING TABLE v FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME
SELECT region, seq, coalesce(sum(qty) OVER (PARTITION BY region), 0) AS n FROM STREAM(orders);
--                           ^ WINDOW_FUNCTION_REFUSED
