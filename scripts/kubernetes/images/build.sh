#!/usr/bin/env bash
# The images of the end-to-end test without an image registry: a base made by debootstrap with this machine's Node.js, Kafka from its
# jars and a cut-down Java, Redis from Debian, the process that holds a pod together, and Tidemark itself.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

is_there() { docker image inspect "$1" >/dev/null 2>&1; }

if ! is_there local/debian:bookworm-slim; then
  debootstrap --variant=minbase --include=ca-certificates,tzdata,libstdc++6 bookworm "$work/rootfs" >"$work/log" 2>&1 ||
    { tail -n 20 "$work/log"; exit 1; }
  # Authorities that this machine trusts beside Debian's: package managers inside of a build need them, too.
  if compgen -G '/usr/local/share/ca-certificates/*.crt' >/dev/null; then
    cp /usr/local/share/ca-certificates/*.crt "$work/rootfs/usr/local/share/ca-certificates/"
    chroot "$work/rootfs" update-ca-certificates >/dev/null 2>&1
  fi
  tar -C "$work/rootfs" --numeric-owner -c . |
    docker import -c 'ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' - local/debian:bookworm-slim >/dev/null
fi

if ! is_there local/node:20-bookworm-slim; then
  mkdir "$work/node"
  cp "$(readlink -f "$(command -v node)")" "$work/node/node"
  cp -a "$(dirname "$(dirname "$(readlink -f "$(command -v npm)")")")" "$work/node/npm"
  docker build -q -t local/node:20-bookworm-slim -f "$here/node.Dockerfile" "$work/node" >/dev/null
fi

if ! is_there local/redis:7; then docker build -q --network host -t local/redis:7 "$here/redis" >/dev/null; fi

if ! is_there local/cp-kafka:8.1.0; then
  cp -r "$here/kafka" "$work/kafka"
  cp -a "$("$root/scripts/services/kafka-jars.sh" 4.1.0)" "$work/kafka/libs"
  java=$(dirname "$(dirname "$(readlink -f "$(command -v javac)")")")
  "$java/bin/jlink" --module-path "$java/jmods" --strip-debug --no-header-files --no-man-pages --compress=1 --output "$work/kafka/jre" \
    --add-modules java.base,java.desktop,java.instrument,java.logging,java.management,java.management.rmi,java.naming,java.net.http,java.security.jgss,java.security.sasl,java.sql,java.xml,jdk.crypto.ec,jdk.jfr,jdk.management,jdk.management.agent,jdk.security.auth,jdk.security.jgss,jdk.unsupported,jdk.zipfs
  docker build -q -t local/cp-kafka:8.1.0 "$work/kafka" >/dev/null
fi

if ! is_there local/pause:1; then
  CGO_ENABLED=0 go build -C "$here/pause" -trimpath -ldflags '-s -w' -o "$work/pause" main.go
  printf 'FROM scratch\nCOPY pause /pause\nUSER 65535:65535\nENTRYPOINT ["/pause"]\n' >"$work/pause.Dockerfile"
  docker build -q -t local/pause:1 -f "$work/pause.Dockerfile" "$work" >/dev/null
fi

docker build -q --network host --build-arg BASE_IMAGE=local/node:20-bookworm-slim -t tidemark:e2e "$root" >/dev/null
docker image ls
