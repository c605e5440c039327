#!/usr/bin/env bash
# `npm run e2e:k8s`: one command from nothing to the verdict. Where KUBECONFIG names a cluster, the test runs on it. Otherwise, as root,
# it makes one on this machine: programs from Go modules, an engine and images without a registry, control plane and node; runs the
# test; and ends what it has started. See scripts/kubernetes/cluster.sh for what it needs, scripts/e2e-kubernetes.ts for what is tested.
# The last line is the verdict; the exit code says the same.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

scripts/setup.sh
if [ -n "${KUBECONFIG:-}" ]; then exec node --import tsx scripts/e2e-kubernetes.ts; fi

export CLUSTER_DIR=${CLUSTER_DIR:-/tmp/tidemark-cluster}
export CLUSTER_BIN=${CLUSTER_BIN:-$CLUSTER_DIR/bin}
export HELM=${HELM:-$CLUSTER_BIN/helm}
export KUBECTL=${KUBECTL:-$CLUSTER_BIN/kubectl}
cluster=scripts/kubernetes/cluster.sh

finish() {
  "$cluster" down
  scripts/kubernetes/engine.sh down
}
trap finish EXIT

say() { printf '%8s s  %s\n' "$SECONDS" "$1"; }

"$cluster" build >/dev/null
say 'the programs are built'
scripts/kubernetes/engine.sh up
"$cluster" images >/dev/null
say 'the images are built'
"$cluster" up >/dev/null
say 'the cluster is up'
KUBECONFIG=$CLUSTER_DIR/admin.kubeconfig node --import tsx scripts/e2e-kubernetes.ts
