#!/usr/bin/env bash
# Every test, on a machine that may have nothing installed: packages, build, Kafka and Redis, then all of vitest's projects.
# Arguments go to vitest (a file name, --project unit, …). See test/support/services.ts for the choice of services.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

scripts/setup.sh
if [ -z "${TEST_KAFKA_BROKERS:-}" ] || [ -z "${TEST_REDIS_URL:-}" ]; then
  if [ "${TEST_SERVICES:-}" = native ] || ! timeout 10 docker info >/dev/null 2>&1; then
    scripts/services.sh install
  fi
fi
npm run --silent build
exec npx vitest run --config test/vitest.config.ts "$@"
