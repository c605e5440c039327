-- SX-02, SX-03, SX-11: the long form, STREAM without parentheses, names of three parts
CREATE SOURCE shop.public.orders (id BIGINT, v BIGINT);
CREATE STREAMING TABLE a.b.c;
CREATE FLOW f AS INSERT INTO a.b.c BY NAME REPLACE USING (id) SEQUENCE BY v
SELECT * FROM STREAM shop.public.orders;
