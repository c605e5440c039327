-- A view that nobody reads has its faults too
CREATE VIEW v AS SELECT reigon FROM STREAM(orders);
--                      ^ UNRESOLVED_COLUMN.WITH_SUGGESTION
CREATE VIEW static AS SELECT region FROM orders;
