-- Bronze: the records as they came, kept for ever, whatever the source keeps. Everything behind it can be refreshed from it.
CREATE SOURCE orders_raw (order_id BIGINT, customer STRING, product STRING, quantity INT, price DECIMAL(10,2), version BIGINT)
WITH (topic = 'shop.orders');

CREATE STREAMING TABLE orders_bronze
AS SELECT *, _topic, _partition, _offset, _timestamp FROM STREAM(orders_raw);

-- Silver: what is right, newest version of each order. The view judges; the table behind it keeps.
CREATE TEMPORARY VIEW orders_clean (
  CONSTRAINT known_customer EXPECT (customer IS NOT NULL) ON VIOLATION DROP ROW,
  CONSTRAINT some_quantity EXPECT (quantity > 0) ON VIOLATION DROP ROW,
  CONSTRAINT plausible_price EXPECT (price BETWEEN 0 AND 10000)
) AS
SELECT order_id, trim(customer) AS customer, lower(product) AS product, quantity, price,
       CAST(quantity * price AS DECIMAL(12,2)) AS total, version
FROM STREAM(orders_bronze);

CREATE STREAMING TABLE orders_silver
FLOW REPLACE USING (order_id) SEQUENCE BY version BY NAME
SELECT * FROM orders_clean;

-- Gold: what is asked for. Each update computes it and writes what changed.
CREATE MATERIALIZED VIEW sales_by_product AS
SELECT product, count(*) AS orders, sum(quantity) AS pieces, sum(total) AS sales
FROM orders_silver
GROUP BY product;

CREATE MATERIALIZED VIEW best_customers AS
SELECT customer, sales, rank() OVER (ORDER BY sales DESC) AS place
FROM (SELECT customer, sum(total) AS sales FROM orders_silver GROUP BY customer);
