-- A clause that protects rows elsewhere is refused, since ignoring it would show them
CREATE STREAMING TABLE t (region STRING, seq BIGINT) WITH ROW FILTER f ON (region)
--                                                        ^ CLAUSE_REFUSED
FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME SELECT region, seq FROM STREAM(orders);
