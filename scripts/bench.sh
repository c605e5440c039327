#!/usr/bin/env bash
# Measures the built service on a real Kafka: see bench/README.md. KAFKA_BROKERS and REDIS_URL name services that run
# already; without them those of scripts/services.sh are used.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

case " $* " in *" --help "*) exec node --import tsx bench/run.ts --help ;; esac

# Results go to standard output, all else to standard error, so that --json can be piped.
{
  scripts/setup.sh
  npm run --silent build
  if [ -z "${KAFKA_BROKERS:-}" ] || [ -z "${REDIS_URL:-}" ]; then
    scripts/services.sh up
    eval "$(scripts/services.sh status --env)"
  fi
} >&2
export KAFKA_BROKERS REDIS_URL
for variable in "${!TIDEMARK_@}"; do unset "$variable"; done
exec node --import tsx bench/run.ts "$@"
