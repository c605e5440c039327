-- CH-03 a REPLACE WHERE flow, in its short and its long form, once too, and over the time
CREATE STREAMING TABLE short (day DATE, qty BIGINT) WITH (refresh_every = '5 minutes', partitions = 2)
FLOW REPLACE WHERE day >= date_sub(current_date(), 7) BY NAME
SELECT day, sum(qty) AS qty FROM orders WHERE day >= date_sub(current_date(), 7) GROUP BY day;
CREATE STREAMING TABLE long;
CREATE FLOW f AS INSERT INTO long BY NAME REPLACE WHERE region = 'EU' SELECT region, item FROM orders WHERE region = 'EU';
CREATE STREAMING TABLE ran_once (region STRING);
CREATE FLOW o AS INSERT INTO ONCE ran_once BY NAME REPLACE WHERE region IS NOT NULL SELECT region FROM orders WHERE region IS NOT NULL;
CREATE MATERIALIZED VIEW over_them AS SELECT s.day FROM short s CROSS JOIN long;
