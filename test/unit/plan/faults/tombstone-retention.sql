-- Levels of empty keys are kept for ever: an end of them is not supported yet
CREATE STREAMING TABLE t WITH (tombstone_retention = '7 days')
--                             ^ NOT_SUPPORTED_YET
FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME SELECT region, seq FROM STREAM(orders);
