#!/usr/bin/env bash
# Producer → service → output topic on a real Kafka and Redis of this machine (scripts/services.sh starts them where
# they do not run). Each run has topics of its own, so nothing that is there is touched.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

scripts/setup.sh
echo "building"
npm run --silent build
scripts/services.sh up
eval "$(scripts/services.sh status --env)"
export KAFKA_BROKERS

# What the shell has set for another pipeline must not reach this one.
for variable in "${!TIDEMARK_@}"; do unset "$variable"; done

name=demo-$(date +%H%M%S)
folder=${SERVICES_DIR:-.services}/$name
mkdir -p "$folder"
export TIDEMARK_PIPELINE_NAME=$name TIDEMARK_PIPELINE_FILES=$folder/regions.sql
export TIDEMARK_KAFKA_BROKERS=$KAFKA_BROKERS
export TIDEMARK_STATE_KIND=redis TIDEMARK_REDIS_URL=$REDIS_URL TIDEMARK_LOG_LEVEL=warn

say() { printf '\n%s\n' "$*"; }
tidemark() {
  local argument shown=
  for argument in "$@"; do
    case $argument in *[\{\"]*) argument="'$argument'" ;; esac
    shown="$shown $argument"
  done
  printf '$ npx tidemark%s\n' "$shown"
  node dist/main.js "$@"
}
records() { node --import tsx scripts/demo-records.ts "$@"; }
produce() {
  sed 's/^/    /' "$1"
  records produce "$name.region_events" <"$1"
}

sed -e "s/topic = 'region_events'/topic = '$name.region_events'/" \
  -e "s/^CREATE STREAMING TABLE regions_current/& WITH (topic = '$name.regions_current')/" \
  examples/regions/regions.sql >"$folder/regions.sql"

say "== The pipeline, and how it is configured"
sed 's/^/    /' "$folder/regions.sql"
env | grep '^TIDEMARK_' | sort | sed 's/^/    /'
tidemark explain "$folder/regions.sql"

say "== A producer writes the first rows to a topic of 4 partitions"
records create "$name.region_events" 4
produce examples/regions/before.jsonl
tidemark run --once
say "-- The output topic, read committed: one record a key, its sequence and the source of each row in the headers"
records show "$name.regions_current"

say "== The update: regions 1 and 3"
produce examples/regions/update.jsonl
tidemark run --once
tidemark get regions_current 1 2 3

say "== A late row (region 1 at sequence 1) and a tied one (region 2 at its own sequence 1)"
cat >"$folder/late.jsonl" <<'JSON'
{"region_id":1,"device_type":"late","event_type":"click","seq":1}
{"region_id":2,"device_type":"tied","event_type":"click","seq":1}
JSON
produce "$folder/late.jsonl"
tidemark run --once
say "-- The late row changed nothing, the tied one stands beside the others:"
tidemark get regions_current '{"region_id":1}' '{"region_id":2}'
tidemark dump regions_current

say "== Where everything stands"
tidemark status

say "The topics of this run begin with $name. The services go on running; stop them with: scripts/services.sh down"
