-- RQ-04: exactly one sequence; it is another fault than none
CREATE STREAMING TABLE t
FLOW REPLACE USING (region) SEQUENCE BY seq, qty BY NAME
--                                           ^ SEQUENCE_BY_COUNT
SELECT region, seq, qty FROM STREAM(orders);
