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
# The same over the values that change the objects most, where kubeconform and its schemas are (scripts/kubernetes/cluster.sh build).
kubeconform=${KUBECONFORM:-kubeconform}
schemas=${KUBERNETES_SCHEMAS:-}
if command -v "$kubeconform" >/dev/null && [ -n "$schemas" ]; then
  echo "== kubeconform --strict"
  redis="state.kind=redis,state.redis.existingSecret=redis"
  for values in "" "$redis,replicaCount=3" "$redis,workload=Deployment,autoscaling.mode=hpa-cpu" "$redis,autoscaling.mode=hpa-lag" \
    "networkPolicy.enabled=true,podDisruptionBudget.enabled=true" "gate.enabled=false,topologySpread.enabled=false" \
    "metrics.dashboards.enabled=true,http.tokenExistingSecret=token" "kafka.tls.enabled=true,kafka.tls.existingSecret=tls"; do
    "$HELM" template tidemark helm/tidemark --kube-version 1.34.4 --values deploy/manifests/values.yaml --set "$values" |
      "$kubeconform" -strict -summary -schema-location "$schemas/{{.ResourceKind}}{{.KindSuffix}}.json" -
  done
  echo "objects of operators (ServiceMonitor, PodMonitor, PrometheusRule, ScaledObject) are NOT checked: their schemas are not there"
else
  echo "kubeconform and its schemas are not here (scripts/kubernetes/cluster.sh build): the matrix of values is NOT checked by it"
fi
echo "operations: all checks passed"
