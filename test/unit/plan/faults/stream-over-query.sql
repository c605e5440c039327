-- STREAM stands around a name
CREATE STREAMING TABLE t FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME
SELECT region, seq FROM STREAM(SELECT region, seq FROM orders);
--                      ^ STREAM_OVER_QUERY
