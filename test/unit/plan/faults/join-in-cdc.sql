-- OP-10 a change feed joins no two streams itself
CREATE SOURCE o_feed (id BIGINT, c STRING, seq BIGINT) WITH (topic = 'o_feed');
CREATE SOURCE p_feed (pid BIGINT, oid BIGINT) WITH (topic = 'p_feed');
CREATE VIEW both_feeds AS
SELECT o.id, o.c, o.seq, p.pid FROM STREAM(o_feed) o
--                                  ^ JOIN_STREAM_FLOW
  JOIN STREAM(p_feed) p ON o.id = p.oid;
CREATE STREAMING TABLE of_feeds;
CREATE FLOW feeds AS AUTO CDC INTO of_feeds FROM STREAM(both_feeds)
KEYS (id) SEQUENCE BY seq STORED AS SCD TYPE 1;
