-- Append flows: what they may not do, and what a chain of tables may not lose
CREATE STREAMING TABLE b AS SELECT region, seq FROM STREAM(orders) LIMIT 5;
--                                                                       ^ warning NONDETERMINISTIC
CREATE STREAMING TABLE c;
CREATE FLOW c1 AS INSERT INTO c SELECT region, seq FROM STREAM(orders);
--                ^ BY_NAME_MISSING
CREATE STREAMING TABLE d WITH (output = 'rows') AS SELECT region, seq FROM STREAM(orders);
--                             ^ OPTION_VALUE
CREATE STREAMING TABLE e;
CREATE FLOW e1 AS INSERT INTO e BY NAME SELECT region, seq FROM STREAM(orders) WHERE seq > 0;
CREATE FLOW e2 AS INSERT INTO e BY NAME SELECT region, seq FROM STREAM(orders) WHERE seq <= 0;
CREATE STREAMING TABLE f FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME
--                            ^ NOT_SUPPORTED_YET
SELECT region, seq FROM STREAM(e);
CREATE STREAMING TABLE g AS SELECT * FROM STREAM(idle);
--                                        ^ NOT_SUPPORTED_YET
CREATE STREAMING TABLE idle (region STRING);
CREATE STREAMING TABLE h AS SELECT _offset, region FROM STREAM(e);
--                                 ^ UNRESOLVED_COLUMN.WITH_SUGGESTION
