-- Clock and chance outside key and sequence are warned of
CREATE STREAMING TABLE t FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME
SELECT region, seq, current_timestamp() AS loaded FROM STREAM(orders);
--                  ^ warning NONDETERMINISTIC
