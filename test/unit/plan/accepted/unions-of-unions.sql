-- OP-07: unions within unions are as many branches; names of CTEs are bound once
CREATE STREAMING TABLE t FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME
WITH a AS (SELECT region, seq FROM STREAM(orders)), b AS (SELECT * FROM a UNION ALL SELECT * FROM a),
     c AS (SELECT * FROM b UNION ALL SELECT * FROM b)
SELECT * FROM c UNION ALL (SELECT * FROM a UNION ALL SELECT region, seq FROM STREAM(refunds));
