#!/usr/bin/env bash
# What checks chart and rules: helm, kubeconform with its schemas, promtool. What HELM, KUBECONFORM with KUBERNETES_SCHEMAS, and PROMTOOL
# name is taken; otherwise helm and kubeconform are built from Go modules and kept in OPERATIONS_TOOLS for the next time, and promtool
# comes with Debian's package prometheus, which is installed where it is missing and that is possible. Prints the variables to export, for
# `eval`. Ends with 3, having said what is missing, where something cannot be had.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
tools=${OPERATIONS_TOOLS:-${XDG_CACHE_HOME:-$HOME/.cache}/tidemark/operations}

missing() {
  echo "$1" >&2
  exit 3
}

promtool=${PROMTOOL:-promtool}
if ! command -v "$promtool" >/dev/null; then
  [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || missing "promtool is missing (Debian: apt-get install prometheus)"
  install_it() { DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends prometheus >/dev/null 2>&1; }
  install_it || { apt-get update -qq >/dev/null 2>&1 && install_it; } || missing "promtool cannot be installed (Debian: package prometheus)"
fi

helm=${HELM:-$tools/helm}
kubeconform=${KUBECONFORM:-$tools/kubeconform}
schemas=${KUBERNETES_SCHEMAS:-$tools/schemas}
if ! command -v "$helm" >/dev/null || ! command -v "$kubeconform" >/dev/null || [ ! -f "$schemas/scaledobject-keda-v1alpha1.json" ]; then
  command -v go >/dev/null || missing "helm and kubeconform are missing, and there is no Go to build them"
  mkdir -p "$tools"
  # One at a time: two checks may begin at once.
  exec 8>"$tools/lock"
  flock 8
  "$here/kubernetes/control/build.sh" "$tools" tools >"$tools/log" 2>&1 || { tail -n 5 "$tools/log" >&2; missing "helm and kubeconform cannot be built"; }
  helm=${HELM:-$tools/helm} kubeconform=$tools/kubeconform schemas=$tools/schemas
fi
printf 'export HELM=%q TEST_HELM=%q TEST_HELM_REQUIRED=1 KUBECONFORM=%q KUBERNETES_SCHEMAS=%q PROMTOOL=%q\n' \
  "$helm" "$helm" "$kubeconform" "$schemas" "$promtool"
