-- Sources are declared, with columns that suit their format
CREATE SOURCE empty;
--            ^ SOURCE_UNDECLARED
CREATE SOURCE text (a STRING, b STRING) WITH (format = 'string');
--            ^ SOURCE_COLUMNS
CREATE SOURCE raw (a STRING) WITH (format = 'bytes');
--            ^ SOURCE_COLUMNS
CREATE SOURCE twice (a INT, A INT);
--                          ^ COLUMN_DUPLICATE
CREATE SOURCE later (a INT) WITH (format = 'avro');
--                                ^ NOT_SUPPORTED_YET
CREATE STREAMING TABLE t FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME
SELECT region, seq FROM STREAM(shop.public.ordrs);
--                             ^ SOURCE_UNDECLARED
CREATE STREAMING TABLE u FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME
SELECT region, seq FROM STREAM(order);
--                             ^ SOURCE_UNDECLARED
CREATE STREAMING TABLE v FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME
SELECT region, seq FROM ordrs;
--                      ^ NAME_UNKNOWN
