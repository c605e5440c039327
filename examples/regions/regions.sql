-- The rows of a region are sent again from time to time, all of them, with a higher sequence.
CREATE SOURCE region_events (
  region_id BIGINT,
  device_type STRING,
  event_type STRING,
  seq BIGINT
) WITH (topic = 'region_events');

CREATE STREAMING TABLE regions_current
FLOW REPLACE USING (region_id) SEQUENCE BY seq BY NAME
SELECT region_id, device_type, event_type, seq
FROM STREAM(region_events);
