-- Clauses and options that are ignored are warned of
CREATE SOURCE s (a INT, b BIGINT, c INT NOT NULL, _offset BIGINT);
--                                ^ warning NOT_NULL_IGNORED
--                                                ^ warning HIDDEN_COLUMN_SHADOWED
CREATE STREAMING TABLE t (a INT, b BIGINT)
TBLPROPERTIES ('pipelines.reset.allowed' = 'false', 'dead_letter_topic' = 'x')
--                                                  ^ warning OPTION_MISPLACED
CLUSTER BY (a)
-- @1 warning CLAUSE_IGNORED
FLOW REPLACE USING (a) SEQUENCE BY b BY NAME SELECT a, b FROM STREAM(s);
SET pipelines.x = 'y';
-- @1 warning SETTING_IGNORED
