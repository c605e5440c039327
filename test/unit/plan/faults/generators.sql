-- OP-06: one generator, as a whole column, over something that has elements
CREATE STREAMING TABLE t FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME
SELECT region, seq, explode(tags) AS a, explode(lines) AS b FROM STREAM(orders);
--                                      ^ UNSUPPORTED_GENERATOR.MULTI_GENERATOR
CREATE STREAMING TABLE u FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME
SELECT region, seq, upper(explode(tags)) AS a FROM STREAM(orders);
--                        ^ UNSUPPORTED_GENERATOR.NESTED_IN_EXPRESSIONS
CREATE STREAMING TABLE v FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME
SELECT region, seq FROM STREAM(orders) WHERE explode(tags) = 'a';
--                                           ^ UNSUPPORTED_GENERATOR.OUTSIDE_SELECT
CREATE STREAMING TABLE w FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME
SELECT region, seq, explode(item) AS a FROM STREAM(orders);
--                          ^ DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE
CREATE STREAMING TABLE x FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME
SELECT region, seq, posexplode(tags) AS a FROM STREAM(orders);
--                                      ^ ALIAS_COLUMNS
CREATE STREAMING TABLE y FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME
SELECT region, seq, json_tuple(payload, 'a') AS a FROM STREAM(orders);
--                  ^ NOT_SUPPORTED_YET
