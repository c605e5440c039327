#!/usr/bin/env bash
# `npm run e2e:k8s`: one command from nothing to the verdict. Where KUBECONFIG names a cluster, the test runs on it. Otherwise, as root,
# it makes one on this machine: programs from Go modules, an engine and images without a registry, control plane and node; runs the
# test; and ends what it has started. See scripts/kubernetes/cluster.sh for what it needs, scripts/e2e-kubernetes.ts for what is tested.
# The last line is the verdict; the exit code says the same.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

keep=
for argument; do
  case $argument in
    --keep) keep=yes ;;
    --help)
      cat <<'HELP'
npm run e2e:k8s -- [options]: install, feed, verify, upgrade, kill, roll back and uninstall on a real cluster. The last line is the
verdict; the exit code is 1 when it failed.
  --keep   leaves the cluster that it made running, and tells how to use and how to end it
  --help   this text
Environment:
  KUBECONFIG   a cluster that is there already; else, as root on Debian, one is made on this machine
  HELM, KUBECTL, E2E_BROKERS   the programs, and where the cluster's Kafka answers, for a cluster that is there already
  CLUSTER_DIR  programs, data and logs of the cluster that is made, /tmp/tidemark-cluster by default
HELP
      exit 0
      ;;
    *)
      echo "Unknown option '$argument' (--help tells what there is)" >&2
      exit 2
      ;;
  esac
done

scripts/setup.sh
if [ -n "${KUBECONFIG:-}" ]; then exec node --import tsx scripts/e2e-kubernetes.ts; fi

export CLUSTER_DIR=${CLUSTER_DIR:-/tmp/tidemark-cluster}
export CLUSTER_BIN=${CLUSTER_BIN:-$CLUSTER_DIR/bin}
export HELM=${HELM:-$CLUSTER_BIN/helm}
export KUBECTL=${KUBECTL:-$CLUSTER_BIN/kubectl}
cluster=scripts/kubernetes/cluster.sh

finish() {
  if [ -n "$keep" ]; then
    cat <<KEPT
The cluster is left running: export KUBECONFIG=$CLUSTER_DIR/admin.kubeconfig PATH=$CLUSTER_BIN:\$PATH
It is ended by: scripts/kubernetes/cluster.sh down; scripts/kubernetes/engine.sh down
KEPT
    return
  fi
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
