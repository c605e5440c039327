-- A feed of changes, out of order: inserts, updates and deletes of people.
CREATE SOURCE people_changes (id INT, name STRING, city STRING, operation STRING, change BIGINT)
WITH (topic = 'people.changes');

-- The newest row of each person.
CREATE STREAMING TABLE people;
CREATE FLOW people AS AUTO CDC INTO people
FROM STREAM(people_changes)
KEYS (id)
APPLY AS DELETE WHEN operation = 'DELETE'
SEQUENCE BY change
COLUMNS * EXCEPT (operation, change)
STORED AS SCD TYPE 1;

-- Where each person lived, from which change to which.
CREATE STREAMING TABLE people_history;
CREATE FLOW people_history AS AUTO CDC INTO people_history
FROM STREAM(people_changes)
KEYS (id)
APPLY AS DELETE WHEN operation = 'DELETE'
SEQUENCE BY change
COLUMNS * EXCEPT (operation, change)
STORED AS SCD TYPE 2
TRACK HISTORY ON (city);

CREATE MATERIALIZED VIEW people_by_city AS
SELECT city, count(*) AS people FROM people GROUP BY city;
