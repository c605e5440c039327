-- Bookings come from several services, out of order and more than once. The update id orders them: two
-- updates may carry the same time, but never the same id.
CREATE SOURCE bookings (
  booking_id BIGINT,
  property_id BIGINT,
  guest STRING,
  status STRING,
  total_amount DECIMAL(10,2),
  update_id BIGINT,
  updated_at TIMESTAMP
) WITH (topic = 'bookings');

-- A booking without a price is an error of the producer: it must not replace the last good one.
CREATE STREAMING TABLE bookings_current (
  CONSTRAINT priced EXPECT (total_amount > 0) ON VIOLATION DROP ROW,
  CONSTRAINT has_guest EXPECT (guest IS NOT NULL)
)
FLOW REPLACE USING (booking_id) SEQUENCE BY update_id BY NAME
SELECT booking_id, property_id, upper(guest) AS guest, status, total_amount,
       CASE WHEN total_amount >= 1000 THEN 'large' ELSE 'regular' END AS class,
       update_id, updated_at
FROM STREAM(bookings)
WHERE status <> 'DRAFT';

-- All bookings of a property that the newest snapshot of that property holds. Some rows have no property.
CREATE STREAMING TABLE bookings_by_property;
CREATE FLOW by_property AS INSERT INTO bookings_by_property BY NAME
REPLACE USING (property_id) SEQUENCE BY updated_at
SELECT property_id, booking_id, status, updated_at
FROM STREAM(bookings);
