-- Valid, and perhaps not what was meant
CREATE SOURCE s (id BIGINT, cust STRING, seq BIGINT, amount DOUBLE, price DECIMAL(12, 2));
CREATE STREAMING TABLE a FLOW REPLACE USING (id) SEQUENCE BY seq BY NAME
SELECT id, cust seq FROM STREAM(s);
--              ^ warning ALIAS_HIDES_COLUMN
CREATE STREAMING TABLE swapped AS SELECT id, cust seq, seq cust FROM STREAM(s);
CREATE STREAMING TABLE meant AS SELECT id, cust AS seq, upper(cust) amount FROM STREAM(s);
CREATE STREAMING TABLE n (id INT, seq DECIMAL(20, 1), amount FLOAT, price DECIMAL(10, 2)) AS
SELECT id, seq, amount, price FROM STREAM(s);
--     ^ warning TARGET_COLUMN_NARROW
--              ^ warning TARGET_COLUMN_NARROW
--                      ^ warning TARGET_COLUMN_NARROW
CREATE SOURCE raw (id INT, op STRING, before STRUCT<id: INT>, after STRUCT<id: INT>, ts_ms BIGINT);
CREATE STREAMING TABLE appended; CREATE FLOW f AS INSERT INTO appended BY NAME SELECT id FROM STREAM(raw);
--                               ^ warning CDC_FEED
CREATE STREAMING TABLE rounded (id BIGINT, price DECIMAL(12, 1)) AS SELECT id, price FROM STREAM(s);
--                                                                             ^ warning TARGET_COLUMN_NARROW
