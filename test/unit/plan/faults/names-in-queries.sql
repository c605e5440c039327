-- Unknown, ambiguous and hidden names
CREATE STREAMING TABLE t FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME
SELECT region, itm, seq FROM STREAM(orders) WHERE quanity > 0;
--             ^ UNRESOLVED_COLUMN.WITH_SUGGESTION
--                                                ^ UNRESOLVED_COLUMN.WITH_SUGGESTION
CREATE STREAMING TABLE u FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME
SELECT region, x, seq FROM (SELECT region, seq, qty AS x, price AS X FROM STREAM(orders));
--             ^ AMBIGUOUS_REFERENCE
CREATE STREAMING TABLE v FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME
SELECT region, seq, _offset FROM (SELECT region, seq FROM STREAM(orders));
--                  ^ UNRESOLVED_COLUMN.WITH_SUGGESTION
CREATE STREAMING TABLE w FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME
SELECT region, seq, qty * 2 AS twice FROM STREAM(orders) WHERE twice > 0;
--                                                             ^ UNRESOLVED_COLUMN.WITH_SUGGESTION
CREATE STREAMING TABLE x FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME
SELECT region, seq, orders.item FROM STREAM(orders) AS o;
--                  ^ UNRESOLVED_COLUMN.WITH_SUGGESTION
