-- Flows of other kinds are parsed and named, so that nothing runs half
CREATE STREAMING TABLE t FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME
SELECT region, seq FROM STREAM(orders);
CREATE MATERIALIZED VIEW m AS SELECT region, count(*) AS n FROM t GROUP BY region;
CREATE STREAMING TABLE u;
CREATE FLOW f AS INSERT INTO ONCE u BY NAME SELECT region, count(*) AS n FROM refunds GROUP BY region;
CREATE STREAMING TABLE w;
CREATE FLOW g AS INSERT INTO w BY NAME SELECT region, max(seq) AS seq FROM STREAM(orders);
--                                                    ^ AGGREGATE_REFUSED
