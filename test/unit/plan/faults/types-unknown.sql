-- A type that does not exist
CREATE SOURCE s (k BIGINT, v STRNG) WITH (topic = 'unknown_types');
--                           ^ UNSUPPORTED_DATATYPE
