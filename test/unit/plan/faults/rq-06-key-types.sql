-- RQ-06, RQ-08, RQ-09: key types have an order; MAP and VARIANT have none, also inside other types
CREATE STREAMING TABLE a FLOW REPLACE USING (attrs) SEQUENCE BY seq BY NAME
--                                           ^ KEY_TYPE
SELECT attrs, seq FROM STREAM(orders);
CREATE STREAMING TABLE b FLOW REPLACE USING (region, doc) SEQUENCE BY seq BY NAME
--                                                   ^ KEY_TYPE
SELECT region, doc, seq FROM STREAM(orders);
CREATE STREAMING TABLE c FLOW REPLACE USING (k) SEQUENCE BY seq BY NAME
--                                           ^ KEY_TYPE
SELECT array(attrs) AS k, seq FROM STREAM(orders);
CREATE STREAMING TABLE d FLOW REPLACE USING (k) SEQUENCE BY seq BY NAME
--                                           ^ KEY_TYPE
SELECT named_struct('a', region, 'b', doc) AS k, seq FROM STREAM(orders);
