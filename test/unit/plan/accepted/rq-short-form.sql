-- RQ-02 … RQ-05, SX-01: the short form
CREATE OR REFRESH STREAMING TABLE t
FLOW REPLACE USING (region, item) SEQUENCE BY seq BY NAME
SELECT region, item, qty, seq FROM STREAM(orders);
