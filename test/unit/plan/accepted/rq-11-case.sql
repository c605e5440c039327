-- RQ-11, RU-24: key and sequence in another case; the sequence may be an expression of the result
CREATE STREAMING TABLE t
FLOW REPLACE USING (REGION) SEQUENCE BY struct(SEQ, qty) BY NAME
SELECT region, seq, qty FROM STREAM(orders);
