-- NO-06: a query without a stream has its other faults told at once
CREATE STREAMING TABLE t FLOW REPLACE USING (a) SEQUENCE BY b BY NAME
SELECT 1 AS a, CAST('x' AS NOTYPE) AS b, x AS c, nosuch(1) AS d;
-- @1 SOURCE_NOT_STREAMING
--                         ^ UNSUPPORTED_DATATYPE
--                                               ^ UNRESOLVED_ROUTINE
CREATE STREAMING TABLE u FLOW REPLACE USING (a) SEQUENCE BY a BY NAME
SELECT id AS a FROM range(10) WHERE array(1) = 1;
--                  ^ SOURCE_NOT_STREAMING
--                                  ^ DATATYPE_MISMATCH.BINARY_OP_DIFF_TYPES
