-- Aliases of the select list: used before they stand, or standing twice
CREATE STREAMING TABLE t FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME
SELECT region, seq, b + 1 AS a, qty AS b FROM STREAM(orders);
--                  ^ UNRESOLVED_COLUMN.WITH_SUGGESTION
CREATE STREAMING TABLE u FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME
SELECT region, seq, c FROM (SELECT region, seq, qty AS x, price AS x, x + 1 AS c FROM STREAM(orders));
--                                                                    ^ AMBIGUOUS_LATERAL_COLUMN_ALIAS
