#!/usr/bin/env bash
# Plain manifests for whoever does not use helm: the chart, rendered with deploy/manifests/values.yaml. Without an argument
# it writes deploy/manifests/tidemark.yaml; with `check` it only compares. HELM names the program.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

target=deploy/manifests/tidemark.yaml
fresh=$(mktemp)
trap 'rm -f "$fresh"' EXIT
{
  cat <<'HEAD'
# Rendered from helm/tidemark with deploy/manifests/values.yaml by scripts/write-manifests.sh; change those, not this.
#
#   kubectl create secret generic tidemark-redis --from-literal=url=redis://redis:6379
#   kubectl apply -f deploy/manifests/tidemark.yaml
#
# The gate, which checks a pipeline before an upgrade, needs helm: here run `tidemark validate` yourself.
HEAD
  "${HELM:-helm}" template tidemark helm/tidemark --kube-version 1.34.4 --no-hooks --namespace default \
    --values deploy/manifests/values.yaml | grep -v '^ *helm.sh/chart:' | sed 's|managed-by: Helm|managed-by: kubectl|'
} >"$fresh"
if [ "${1:-}" = check ]; then
  diff -u "$target" "$fresh" || { echo "$target is not current: run scripts/write-manifests.sh" >&2; exit 1; }
else
  cp "$fresh" "$target"
  chmod 644 "$target"
fi
