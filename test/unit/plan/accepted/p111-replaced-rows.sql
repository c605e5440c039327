-- P111: a table whose rows are replaced is streamed under its own keys and sequence, in any order, under any name and through views
CREATE STREAMING TABLE t FLOW REPLACE USING (region, item) SEQUENCE BY struct(day, seq) BY NAME
SELECT region, item, qty, seq, at, day, tags FROM STREAM(orders);
CREATE VIEW many AS SELECT item AS what, region, day, seq, tags FROM STREAM(t) WHERE qty > 10;
CREATE STREAMING TABLE u FLOW REPLACE USING (what, region) SEQUENCE BY struct(day, seq) BY NAME
SELECT what, region, explode(tags) AS tag, day, seq FROM many
UNION ALL SELECT item, region, 'order', day, seq FROM STREAM(orders);
CREATE STREAMING TABLE equal FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME
SELECT DISTINCT region, seq FROM STREAM(orders);
CREATE STREAMING TABLE fewer FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME
SELECT DISTINCT region, seq FROM STREAM(equal);
