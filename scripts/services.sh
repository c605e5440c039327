#!/usr/bin/env bash
# A real Kafka (one KRaft broker) and Redis on 127.0.0.1 for development.
#
#   scripts/services.sh install         installs what `up` needs, starts nothing
#   scripts/services.sh up              starts what is not running, waits until both answer
#   scripts/services.sh status [--env]  what runs; --env: KAFKA_BROKERS=… and REDIS_URL=… for eval
#   scripts/services.sh down            stops what `up` started, and nothing else
#
# KAFKA_PORT (19092) and REDIS_PORT (16379) are wishes: a free port is taken when one is in use.
# KAFKA_VERSION (4.1.0), SERVICES_DIR (.services), SERVICES_INSTALL=no (never install a package).
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
mkdir -p "${SERVICES_DIR:-$here/../.services}"
export SERVICES_DIR=$(cd "${SERVICES_DIR:-$here/../.services}" && pwd)
run=$SERVICES_DIR/run
mkdir -p "$run"

# A pid file counts only while the process that wrote it lives: the start time tells it from a later
# process of the same number.
start_time() { awk '{ sub(/.*\) /, ""); print $20 }' "/proc/$1/stat" 2>/dev/null || true; }

remember() { echo "$2 $3 $(start_time "$2")" >"$run/$1"; }

pid_of() {
  local pid port started
  [ -f "$run/$1" ] && read -r pid port started <"$run/$1" || return 1
  [ -n "$started" ] && [ "$(start_time "$pid")" = "$started" ] && echo "$pid"
}

port_of() { awk '{ print $2 }' "$run/$1"; }

is_taken() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

free_port() {
  local port=$1
  while is_taken "$port"; do port=$((20000 + RANDOM % 12000)); done
  echo "$port"
}

# An ApiVersions request, version 0: a broker that is not ready yet takes the connection, but gives no answer.
kafka_answers() {
  local answer
  answer=$(timeout 2 bash -c 'exec 3<>"/dev/tcp/127.0.0.1/$0"
    printf "\x00\x00\x00\x0f\x00\x12\x00\x00\x00\x00\x00\x01\x00\x05ready" >&3
    head -c 8 <&3 | od -An -tx1 | tr -d " \n"' "$1" 2>/dev/null) || true
  [ "${answer:8}" = 00000001 ]
}

redis_answers() {
  local answer
  answer=$(timeout 2 bash -c 'exec 3<>"/dev/tcp/127.0.0.1/$0"; printf "PING\r\n" >&3; head -c 5 <&3' "$1" 2>/dev/null) || true
  [ "$answer" = +PONG ]
}

await() { # name, pid, port, check
  for _ in $(seq 1 240); do
    "$4" "$3" && return 0
    kill -0 "$2" 2>/dev/null || break
    sleep 0.5
  done
  echo "$1 does not answer on port $3; the end of its log:" >&2
  tail -n 20 "$run/$1.log" >&2
  return 1
}

need() { # command, package
  command -v "$1" >/dev/null && return 0
  if [ "${SERVICES_INSTALL:-yes}" = no ] || [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
    echo "$1 is missing; install it (Debian: apt-get install $2) and try again" >&2
    return 1
  fi
  echo "installing $2"
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$2" >/dev/null 2>&1 && return 0
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$2" >/dev/null
}

up_kafka() {
  local jars port pid
  pid_of kafka >/dev/null && return 0
  need java openjdk-17-jre-headless
  need mvn maven
  jars=$("$here/services/kafka-jars.sh" "${KAFKA_VERSION:-4.1.0}")
  port=$(free_port "${KAFKA_PORT:-19092}")
  setsid "$here/services/kafka-broker.sh" "$SERVICES_DIR/kafka-data" "$jars" "$port" \
    "$(free_port $((port + 1)))" >"$run/kafka.log" 2>&1 </dev/null 9>&- &
  pid=$!
  remember kafka "$pid" "$port"
}

up_redis() {
  local port pid
  pid_of redis >/dev/null && return 0
  need redis-server redis-server
  port=$(free_port "${REDIS_PORT:-16379}")
  mkdir -p "$SERVICES_DIR/redis-data"
  setsid redis-server --port "$port" --bind 127.0.0.1 --save '' --appendonly no \
    --maxmemory-policy noeviction --dir "$SERVICES_DIR/redis-data" >"$run/redis.log" 2>&1 </dev/null 9>&- &
  pid=$!
  remember redis "$pid" "$port"
}

down() { # name
  local pid
  if pid=$(pid_of "$1"); then
    kill "$pid"
    for _ in $(seq 1 100); do
      pid_of "$1" >/dev/null || break
      sleep 0.2
    done
    if pid_of "$1" >/dev/null; then kill -9 "$pid"; fi
    echo "$1 stopped"
  else
    echo "$1 does not run"
  fi
  rm -f "$run/$1"
}

status() { # name, check
  local pid
  if ! pid=$(pid_of "$1"); then
    echo "$1: not running"
    return 1
  fi
  if "$2" "$(port_of "$1")"; then
    echo "$1: answers on 127.0.0.1:$(port_of "$1") (pid $pid)"
  else
    echo "$1: runs (pid $pid), but does not answer on 127.0.0.1:$(port_of "$1")"
    return 1
  fi
}

exec 9>"$run/lock"
case ${1:-} in
  install)
    flock 9
    need java openjdk-17-jre-headless
    need mvn maven
    need redis-server redis-server
    "$here/services/kafka-jars.sh" "${KAFKA_VERSION:-4.1.0}" >/dev/null
    ;;
  up)
    flock 9
    up_kafka
    up_redis
    await redis "$(pid_of redis || echo 0)" "$(port_of redis)" redis_answers
    await kafka "$(pid_of kafka || echo 0)" "$(port_of kafka)" kafka_answers
    status kafka kafka_answers
    status redis redis_answers
    ;;
  down)
    flock 9
    down kafka
    down redis
    ;;
  status)
    if [ "${2:-}" = --env ]; then
      pid_of kafka >/dev/null && pid_of redis >/dev/null || { echo "services are not running: scripts/services.sh up" >&2; exit 1; }
      echo "KAFKA_BROKERS=127.0.0.1:$(port_of kafka)"
      echo "REDIS_URL=redis://127.0.0.1:$(port_of redis)"
    else
      failed=0
      status kafka kafka_answers || failed=1
      status redis redis_answers || failed=1
      exit "$failed"
    fi
    ;;
  *)
    sed -n '2,10p' "${BASH_SOURCE[0]}" | sed 's/^# \{0,1\}//' >&2
    exit 2
    ;;
esac
