-- What the pipelines of these tests read.
CREATE SOURCE orders (
  region STRING, item STRING, qty INT, price DECIMAL(10,2), seq BIGINT, at TIMESTAMP, day DATE,
  tags ARRAY<STRING>, lines ARRAY<STRUCT<sku: STRING, qty: INT>>, attrs MAP<STRING, STRING>,
  doc VARIANT, customer STRUCT<id: BIGINT, name: STRING>, payload STRING
);
CREATE SOURCE refunds (region STRING, item STRING, qty BIGINT, seq BIGINT);
