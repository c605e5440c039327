-- FL-19 what a flow is called belongs to its checkpoint: no other has the name of one of its stages, or of its refresh
CREATE STREAMING TABLE d WITH (topic = 'rows') AS SELECT DISTINCT item FROM STREAM(refunds);
CREATE STREAMING TABLE l AS SELECT item FROM STREAM(refunds) LIMIT 3;
--                                                                 ^ warning NONDETERMINISTIC
CREATE STREAMING TABLE e;
CREATE FLOW `D.distinct` AS INSERT INTO e BY NAME SELECT item FROM STREAM(refunds);
--          ^ FLOW_NAME_TAKEN
CREATE FLOW l.limit AS INSERT INTO e BY NAME SELECT item FROM STREAM(refunds);
--          ^ FLOW_NAME_TAKEN
CREATE STREAMING TABLE f WITH (topic = 'rows.distinct');
--                     ^ TOPIC_TAKEN
CREATE FLOW e.refresh AS INSERT INTO f BY NAME SELECT item FROM STREAM(refunds);
--          ^ FLOW_NAME_INVALID
CREATE STREAMING TABLE j FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME
SELECT o.region, o.seq FROM STREAM(orders) o JOIN STREAM(refunds) r ON o.item = r.item AND r.qty <= o.qty;
--                          ^ warning JOIN_STATE_UNBOUNDED
CREATE STREAMING TABLE j.join WITH (topic = 'other') AS SELECT item FROM STREAM(refunds);
--                     ^ NAME_TAKEN
CREATE STREAMING TABLE c;
CREATE FLOW changes AS AUTO CDC INTO c FROM STREAM(orders) KEYS (region) SEQUENCE BY seq;
CREATE FLOW c AS INSERT INTO e BY NAME SELECT item FROM STREAM(refunds);
--          ^ FLOW_NAME_TAKEN
CREATE MATERIALIZED VIEW m.Refresh AS SELECT item FROM refunds;
--                       ^ FLOW_NAME_INVALID
