#!/usr/bin/env bash
# `npm run check:image`: the image is built on a base that has neither shell nor package manager, and is run as a cluster runs it: read-only
# root, user 10001, no capabilities. Needs a Docker engine that answers (scripts/kubernetes/engine.sh up) and no image registry: bases are
# made by scripts/kubernetes/images/build.sh.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

folder=$(mktemp -d)
name=tidemark-check-$$
finish() {
  docker rm -f "$name" >/dev/null 2>&1 || true
  rm -rf "$folder"
}
trap finish EXIT
fail() {
  echo "$1" >&2
  docker logs --tail 5 "$name" >&2 2>/dev/null || true
  exit 1
}

scripts/kubernetes/images/build.sh >/dev/null 2>"$folder/log" || { tail -n 20 "$folder/log" >&2; exit 1; }

# Node.js, the libraries that it needs, the authorities that are trusted: nothing else.
node=$(readlink -f "$(command -v node)")
mkdir -p "$folder/root/usr/local/bin" "$folder/root/etc/ssl/certs"
cp "$node" "$folder/root/usr/local/bin/node"
cp /etc/ssl/certs/ca-certificates.crt "$folder/root/etc/ssl/certs/"
# The packages with native code need parts of the C library that Node.js itself does not.
c_library=$(dirname "$(ldd "$node" | grep -o '/[^ )]*/libc\.so[^ )]*')")
for library in $(ldd "$node" | grep -o '/[^ )]*') "$c_library"/{librt.so.1,libresolv.so.2,libnss_dns.so.2,libnss_files.so.2}; do
  mkdir -p "$folder/root$(dirname "$library")"
  cp -L "$library" "$folder/root$library"
done
printf 'FROM scratch\nCOPY root /\nENV PATH=/usr/local/bin\n' >"$folder/Dockerfile"
docker build -q -t local/node:bare "$folder" >/dev/null 2>&1
docker build -q --network host --build-arg BASE_IMAGE=local/node:20-bookworm-slim --build-arg RUNTIME_IMAGE=local/node:bare \
  -t tidemark:bare . >/dev/null 2>"$folder/log" || { tail -n 20 "$folder/log" >&2; exit 1; }
echo "built without a shell: $(docker image inspect -f '{{.Size}}' tidemark:bare | awk '{ printf "%d MB", $1 / 1e6 }')"

hardened=(--read-only --cap-drop ALL --security-opt no-new-privileges)
version=$(docker run --rm "${hardened[@]}" tidemark:bare --version)
echo "it runs: $version"
if docker run --rm --entrypoint sh tidemark:bare -c true >/dev/null 2>&1; then fail 'there is a shell in it'; fi
user=$(docker run --rm "${hardened[@]}" --entrypoint node tidemark:bare -p 'process.getuid() + ":" + process.getgid()')
[ "$user" = 10001:10001 ] || fail "it runs as $user"
if docker run --rm "${hardened[@]}" --entrypoint node tidemark:bare -e 'require("fs").writeFileSync("/opt/tidemark/x", "")' 2>/dev/null; then
  fail 'its root can be written to'
fi
if docker run --rm --entrypoint node tidemark:bare -e 'require("fs").writeFileSync("/opt/tidemark/x", "")' 2>/dev/null; then
  fail 'its user can write to the program'
fi
echo "it runs as $user, and writes nowhere"

cat >"$folder/p.sql" <<'SQL'
CREATE SOURCE orders (region STRING, seq BIGINT) WITH (topic = 'orders');
CREATE STREAMING TABLE cur FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME SELECT region, seq FROM STREAM(orders);
SQL
chmod 755 "$folder"
# No broker answers there: a service that waits is alive.
docker run -d --name "$name" "${hardened[@]}" -v "$folder/p.sql:/p.sql:ro" --tmpfs /var/lib/tidemark:uid=10001 \
  -e TIDEMARK_PIPELINE_NAME=check -e TIDEMARK_KAFKA_BROKERS=127.0.0.1:1 -e TIDEMARK_STATE_KIND=embedded \
  -e TIDEMARK_RETRY_START_TIMEOUT_MS=600000 --health-interval 1s --health-start-period 1s tidemark:bare run /p.sql >/dev/null
for _ in $(seq 60); do
  health=$(docker inspect -f '{{.State.Health.Status}}' "$name")
  [ "$health" = healthy ] && break
  sleep 1
done
[ "$health" = healthy ] || fail "its health check says $health"
started=$(date +%s%N)
docker stop --time 20 "$name" >/dev/null
took=$((($(date +%s%N) - started) / 1000000))
code=$(docker inspect -f '{{.State.ExitCode}}' "$name")
[ "$code" = 0 ] || fail "told to end, it ends with $code"
echo "its health check passes; told to end, it ends with $code after $took ms"
echo "image: all checks passed"
