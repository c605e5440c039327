#!/usr/bin/env bash
# A Docker engine where no service manager starts one, such as in a container or on a bare build machine. As root.
#
#   scripts/kubernetes/engine.sh up     does nothing where an engine answers
#   scripts/kubernetes/engine.sh down   ends the engine that `up` started, and no other
#
# ENGINE_DIR (/run/tidemark-engine) holds what belongs to one start; images stay in /var/lib/docker for the next one. From Debian:
# docker.io, iptables.
set -euo pipefail
dir=${ENGINE_DIR:-/run/tidemark-engine}

answers() { timeout 10 docker info >/dev/null 2>&1; }

case ${1:-} in
  up)
    if answers; then exit 0; fi
    command -v dockerd >/dev/null || { echo "dockerd is missing (Debian: docker.io)" >&2; exit 1; }
    mkdir -p "$dir"
    rm -f "$dir/pid"
    setsid nohup dockerd --exec-root "$dir/exec" --pidfile "$dir/pid" >"$dir/log" 2>&1 </dev/null \
      3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&- &
    for _ in $(seq 120); do
      if answers; then exit 0; fi
      sleep 0.5
    done
    echo "the Docker engine does not answer; its log: $dir/log" >&2
    tail -n 5 "$dir/log" >&2
    exit 1
    ;;
  down)
    [ -f "$dir/pid" ] || exit 0
    kill "$(cat "$dir/pid")" 2>/dev/null || true
    for _ in $(seq 60); do
      [ -f "$dir/pid" ] || break
      sleep 0.5
    done
    ;;
  *)
    sed -n '2,8p' "$0"
    exit 2
    ;;
esac
