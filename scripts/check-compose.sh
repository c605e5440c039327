#!/usr/bin/env bash
# `npm run check:compose`: deploy/compose comes up, without an image registry: images of this machine (scripts/kubernetes/images/build.sh)
# and its own Prometheus take the places of those that would be pulled. Waits until sample data has become rows and Prometheus has scraped
# and judged them. Grafana is left out, as it cannot be had that way; its files are checked by the unit tests. Needs a Docker engine that
# answers, `docker compose` or `docker-compose`, and `prometheus` in the path. Ends what it has started.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

folder=$(mktemp -d)
compose=(docker compose)
"${compose[@]}" version >/dev/null 2>&1 || compose=(docker-compose)
# The old program names a project by its folder only.
mkdir -p "$folder/deploy/compose"
cp -r deploy/prometheus deploy/grafana examples "$folder/deploy/"
mv "$folder/deploy/examples" "$folder/examples"
cp -r deploy/compose/. "$folder/deploy/compose/"
sed -i '/^name: /d' "$folder/deploy/compose/compose.yaml"
mkdir "$folder/prometheus"
cp "$(command -v prometheus)" "$folder/prometheus/prometheus"
cat >"$folder/prometheus/Dockerfile" <<'IMAGE'
FROM local/debian:bookworm-slim
COPY prometheus /bin/prometheus
ENTRYPOINT ["/bin/prometheus", "--config.file=/etc/prometheus/prometheus.yml", "--storage.tsdb.path=/tmp/prometheus"]
IMAGE
docker build -q -t local/prometheus:check "$folder/prometheus" >/dev/null 2>&1
cat >"$folder/here.yaml" <<'YAML'
services:
  kafka:
    image: local/cp-kafka:8.1.0
    healthcheck: { test: ["CMD-SHELL", "bash -c 'exec 3<>/dev/tcp/127.0.0.1/9092'"] }
  redis: { image: "local/redis:7" }
  producer: { image: "tidemark:e2e" }
  tidemark: { image: "tidemark:e2e" }
  prometheus: { image: "local/prometheus:check" }
YAML
run() { "${compose[@]}" -p tidemark-check -f "$folder/deploy/compose/compose.yaml" -f "$folder/here.yaml" "$@"; }
finish() {
  run down --volumes --timeout 20 >/dev/null 2>&1 || true
  rm -rf "$folder"
}
trap finish EXIT

run config -q
echo "== the file is understood"
run up -d --no-build kafka redis producer tidemark prometheus >"$folder/up.log" 2>&1 || { tail -n 20 "$folder/up.log" >&2; exit 1; }

ask() { # query: the first value
  curl -fsS --data-urlencode "query=$1" http://127.0.0.1:9090/api/v1/query 2>/dev/null | sed -n 's/.*"value":\[[^,]*,"\([^"]*\)".*/\1/p'
}
await() { # what, query, at least
  local value=
  for _ in $(seq 90); do
    value=$(ask "$2" || true)
    if [ -n "$value" ] && awk -v a="$value" -v b="$3" 'BEGIN { exit !(a >= b) }'; then
      echo "== $1: $value"
      return 0
    fi
    sleep 1
  done
  echo "$1: not after 90 s (last: ${value:-nothing})" >&2
  run ps >&2
  run logs --tail=15 tidemark producer >&2
  exit 1
}
await 'Prometheus scrapes the service' 'sum(up{job="tidemark"})' 1
await 'sample data is read and committed' 'sum(tidemark_input_records_total)' 100
await 'rows are in the table' 'sum(tidemark_output_records_total)' 1
await 'the rules are evaluated' 'count(tidemark:fresh:bool)' 1
echo "compose: all checks passed"
