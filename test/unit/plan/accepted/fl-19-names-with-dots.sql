-- FL-19 names of several parts, some of them words that stages have behind a flow of another name
CREATE STREAMING TABLE shop.d AS SELECT DISTINCT item FROM STREAM(refunds);
CREATE STREAMING TABLE d.distinct AS SELECT DISTINCT item FROM STREAM(refunds);
CREATE STREAMING TABLE main.shop.limit AS SELECT item FROM STREAM(refunds);
CREATE STREAMING TABLE shop.c;
CREATE FLOW changes AS AUTO CDC INTO shop.c FROM STREAM(orders) KEYS (region) SEQUENCE BY seq;
CREATE STREAMING TABLE shop.b;
CREATE FLOW `shop.b` AS AUTO CDC INTO shop.b FROM STREAM(orders) KEYS (region) SEQUENCE BY seq;
CREATE FLOW c AS AUTO CDC INTO shop.b FROM STREAM(orders) KEYS (region) SEQUENCE BY seq;
