-- RQ-06: the sequence is ordered too
CREATE STREAMING TABLE t FLOW REPLACE USING (region) SEQUENCE BY attrs BY NAME
--                                                               ^ SEQUENCE_TYPE
SELECT region, attrs FROM STREAM(orders);
CREATE STREAMING TABLE u FLOW REPLACE USING (region) SEQUENCE BY doc BY NAME
--                                                               ^ SEQUENCE_TYPE
SELECT region, doc FROM STREAM(orders);
