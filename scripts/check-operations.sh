#!/usr/bin/env bash
# What of deploy and helm needs programs that a machine may not have: helm (HELM names it) and promtool (Debian: package
# prometheus). One that is missing is a failure here; the unit tests check the rest without them.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

export HELM=${HELM:-helm}
missing=0
for program in "$HELM" promtool; do
  command -v "$program" >/dev/null || { echo "$program is missing" >&2; missing=1; }
done
[ "$missing" = 0 ] || exit 1

echo "== rules"
promtool check rules --lint=all --lint-fatal deploy/prometheus/tidemark.rules.yaml
promtool test rules deploy/prometheus/tidemark.rules.test.yaml

echo "== chart"
"$HELM" lint --strict --kube-version 1.34.4 helm/tidemark --values deploy/manifests/values.yaml
TEST_HELM=$HELM TEST_HELM_REQUIRED=1 npx vitest run --config test/vitest.config.ts --project unit test/unit/chart

echo "== plain manifests"
scripts/write-manifests.sh check

# Schemas of Kubernetes itself, where a program that has them is there.
if command -v kubernetes-validate >/dev/null; then
  echo "== schemas of Kubernetes"
  rendered=$(mktemp)
  trap 'rm -f "$rendered"' EXIT
  for minor in 1.27 1.34; do
    "$HELM" template tidemark helm/tidemark --kube-version "$minor.0" --values deploy/manifests/values.yaml >"$rendered"
    kubernetes-validate -k "$minor" --strict "$rendered" >/dev/null
    echo "valid for $minor"
  done
else
  echo "kubernetes-validate is not here (pip install kubernetes-validate): schemas of Kubernetes are NOT checked"
fi
echo "operations: all checks passed"
