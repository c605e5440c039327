-- A REPLACE WHERE flow is a batch over tables, alone in its table, which no flow reads
CREATE STREAMING TABLE streamed (region STRING, qty INT);
CREATE FLOW f1 AS INSERT INTO streamed BY NAME REPLACE WHERE qty > 1 SELECT region, qty FROM STREAM(orders);
--                                                                                           ^ NOT_SUPPORTED
CREATE STREAMING TABLE unnamed (region STRING, qty INT);
CREATE FLOW f2 AS INSERT INTO unnamed REPLACE WHERE qty > 1 SELECT region, qty FROM orders;
--                ^ BY_NAME_MISSING
CREATE STREAMING TABLE number (region STRING, qty INT);
CREATE FLOW f3 AS INSERT INTO number BY NAME REPLACE WHERE qty SELECT region, qty FROM orders;
--                                                         ^ REPLACE_WHERE_CONDITION
CREATE STREAMING TABLE chance (region STRING, qty INT);
CREATE FLOW f4 AS INSERT INTO chance BY NAME REPLACE WHERE now() IS NULL AND rand(1) > qty SELECT region, qty FROM orders;
--                                                                           ^ REPLACE_WHERE_CONDITION
CREATE STREAMING TABLE misspelt (region STRING, qty INT);
CREATE FLOW f5 AS INSERT INTO misspelt BY NAME REPLACE WHERE regoin = 'EU' SELECT region, qty FROM orders;
--                                                           ^ UNRESOLVED_COLUMN.WITH_SUGGESTION
CREATE STREAMING TABLE wider (region STRING, qty INT);
CREATE FLOW f6 AS INSERT INTO wider BY NAME REPLACE WHERE qty > 1 SELECT region, qty, seq FROM orders;
--                                                                                    ^ TARGET_COLUMN_UNKNOWN
CREATE STREAMING TABLE circle (region STRING, qty INT);
--                     ^ TABLE_CYCLE
CREATE FLOW f7 AS INSERT INTO circle BY NAME REPLACE WHERE qty > 1 SELECT region, qty FROM circle;
CREATE STREAMING TABLE good (region STRING, qty INT);
CREATE FLOW f8 AS INSERT INTO good BY NAME REPLACE WHERE qty > 1 SELECT region, qty FROM orders WHERE qty > 1;
CREATE FLOW f9 AS INSERT INTO good BY NAME REPLACE WHERE qty < 1 SELECT region, qty FROM orders WHERE qty < 1;
-- @1 SECOND_REPLACE_FLOW
CREATE FLOW f10 AS INSERT INTO good BY NAME SELECT region, qty FROM STREAM(orders);
-- @1 FLOW_MIX
CREATE STREAMING TABLE replaced (region STRING, qty INT);
CREATE FLOW f11 AS INSERT INTO replaced BY NAME REPLACE USING (region) SEQUENCE BY qty SELECT region, qty FROM STREAM(orders);
CREATE FLOW f12 AS INSERT INTO replaced BY NAME REPLACE WHERE qty > 1 SELECT region, qty FROM orders WHERE qty > 1;
-- @1 FLOW_MIX
CREATE STREAMING TABLE reader AS SELECT region FROM STREAM(good);
--                                                  ^ SOURCE_NOT_STREAMING
CREATE STREAMING TABLE joined AS SELECT o.region FROM STREAM(orders) o JOIN good ON o.region = good.region;
--                                                                          ^ SOURCE_NOT_STREAMING
CREATE STREAMING TABLE optioned (region STRING, qty INT) WITH (output = 'rows');
--                                                             ^ OPTION_VALUE
CREATE FLOW f13 AS INSERT INTO optioned BY NAME REPLACE WHERE qty > 1 SELECT region, qty FROM orders WHERE qty > 1;
CREATE STREAMING TABLE resting WITH (refresh_every = '5 minutes') AS SELECT region FROM STREAM(orders);
--                                   ^ OPTION_VALUE
CREATE SINK outside;
CREATE FLOW f14 AS INSERT INTO outside BY NAME REPLACE WHERE qty > 1 SELECT region, qty FROM orders;
--                             ^ TARGET_KIND
