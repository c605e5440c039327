-- Statements that do nothing in a pipeline
SELECT region FROM STREAM(orders);
-- @1 STATEMENT_REFUSED
