#!/usr/bin/env bash
# The worked example and a bookings pipeline, from a bare working copy: packages, build, then both on the log and the
# state store in memory. Needs nothing but Node. With Kafka and Redis: scripts/demo-kafka.sh.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

scripts/setup.sh
echo "building"
npm run --silent build

say() { printf '\n%s\n' "$*"; }
tidemark() {
  printf '$ npx tidemark %s\n' "$*"
  node dist/main.js "$@"
}

regions=examples/regions
bookings=examples/bookings

say "== The worked example: the rows of a region are sent again from time to time, with a higher sequence"
sed 's/^/    /' "$regions/regions.sql"
say "-- Before: regions 1 and 2 were sent at sequence 1"
tidemark try "$regions/regions.sql" --input "region_events=$regions/before.jsonl"
say "-- The update brings five more rows, in any order:"
sed 's/^/    /' "$regions/update.jsonl"
say "-- After:"
tidemark try "$regions/regions.sql" --input "region_events=$regions/all.jsonl"
cat <<'TEXT'
Region 1 was sent again at sequence 2: its two rows gave way to three new ones.
Region 2 was not sent again: its rows stay as they were.
Region 3 is new and came with two sequences: only the row of the higher one stands, whichever came first.
TEXT

say "-- The same records in another order and over three partitions give the same table:"
tidemark try "$regions/regions.sql" --input "region_events=$regions/all.jsonl" --partitions 3 --shuffle 7

say "== Bookings: two tables from one topic, with expectations, expressions and exact numbers"
sed 's/^/    /' "$bookings/bookings.sql"
say "-- The records:"
sed 's/^/    /' "$bookings/bookings.jsonl"
say "-- The tables:"
tidemark try "$bookings/bookings.sql" --input "bookings=$bookings/bookings.jsonl"
cat <<'TEXT'
Booking 501 came twice, the newer update first: sequences beyond 2^53 are compared exactly.
Booking 502's cancellation has no price: the expectation drops it, and the last priced row stays.
Booking 504 is a draft: the query filters it from one table, the other one takes it.

== On your own Kafka
The topic of each source must exist; the output topics are made by the service.

  kafka-topics.sh --bootstrap-server localhost:9092 --create --topic bookings --partitions 4
  export TIDEMARK_KAFKA_BROKERS=localhost:9092
  export TIDEMARK_PIPELINE_NAME=bookings
  npx tidemark run examples/bookings/bookings.sql --once      # what is there now, then exit
  node dist/main.js run examples/bookings/bookings.sql        # the service, until Ctrl-C or SIGTERM
  npx tidemark status --pipeline examples/bookings/bookings.sql
  npx tidemark get bookings_current 501 --pipeline examples/bookings/bookings.sql

That keeps its state in .tidemark/state. For several instances, or pods without a disk, use Redis:

  export TIDEMARK_STATE_KIND=redis TIDEMARK_REDIS_URL=redis://localhost:6379

No Kafka at hand? This starts one with Redis on this machine and shows all of it at work:

  npm run demo:kafka
TEXT
