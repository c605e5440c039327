#!/usr/bin/env bash
# `npm run check:operations`: chart, plain manifests, rules and configuration files by the programs that will read them: helm,
# kubeconform, promtool (scripts/operations-tools.sh finds or builds them). What cannot be checked is a failure, and says so.
#
#   --without-tests   leaves out the tests that render the chart, for whoever runs all tests anyway
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

tools=$(scripts/operations-tools.sh)
eval "$tools"

echo "== rules, by $("$PROMTOOL" --version 2>&1 | sed -n 's/^promtool, version \([^ ]*\).*/promtool \1/p')"
"$PROMTOOL" check rules --lint=all --lint-fatal deploy/prometheus/tidemark.rules.yaml
"$PROMTOOL" test rules deploy/prometheus/tidemark.rules.test.yaml

echo "== configuration of Prometheus"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# Inside of the container the rules lie beside it.
cp deploy/compose/prometheus.yaml deploy/prometheus/tidemark.rules.yaml "$folder"
"$PROMTOOL" check config "$folder/prometheus.yaml"

echo "== chart, by helm $("$HELM" version --short)"
for values in deploy/manifests/values.yaml helm/tidemark/ci/*-values.yaml; do
  "$HELM" lint --strict --kube-version 1.34.4 helm/tidemark --values "$values"
done
if [ "${1:-}" != --without-tests ]; then
  npx vitest run --config test/vitest.config.ts --project unit test/unit/chart
fi

echo "== plain manifests"
scripts/write-manifests.sh check

echo "== kubeconform --strict"
# Of each pair of values that changes the objects one, operators' objects among them.
redis="state.kind=redis,state.redis.existingSecret=redis"
watched="metrics.prometheusRule.enabled=true,metrics.dashboards.enabled=true"
for values in "" "$redis,replicaCount=3" "$redis,workload=Deployment,autoscaling.mode=hpa-cpu" "$redis,autoscaling.mode=hpa-lag" \
  "$redis,autoscaling.mode=keda,autoscaling.prometheusAddress=http://prometheus:9090,metrics.monitor=PodMonitor" \
  "$watched,metrics.monitor=ServiceMonitor" "networkPolicy.enabled=true,podDisruptionBudget.enabled=true,gate.refresh={latest}" \
  "gate.enabled=false,topologySpread.enabled=false,podDisruptionBudget.enabled=false" "http.tokenExistingSecret=token" \
  "kafka.tls.enabled=true,kafka.tls.existingSecret=tls,kafka.sasl.mechanism=plain,kafka.sasl.existingSecret=sasl"; do
  "$HELM" template tidemark helm/tidemark --kube-version 1.34.4 --values deploy/manifests/values.yaml --set "$values" >"$folder/rendered.yaml"
  printf '%s\n  ' "${values:-the defaults}"
  "$KUBECONFORM" -strict -summary -schema-location "$KUBERNETES_SCHEMAS/{{.ResourceKind}}{{.KindSuffix}}.json" "$folder/rendered.yaml"
done
# An object that is wrong has to be found, or nothing above says anything.
sed 's/^kind: StatefulSet$/&\nsurely: wrong/' "$folder/rendered.yaml" >"$folder/wrong.yaml"
if "$KUBECONFORM" -strict -schema-location "$KUBERNETES_SCHEMAS/{{.ResourceKind}}{{.KindSuffix}}.json" "$folder/wrong.yaml" >/dev/null; then
  echo "kubeconform finds nothing wrong with an object that is" >&2
  exit 1
fi
echo "operations: all checks passed"
