#!/usr/bin/env bash
# build.sh FOLDER [tools]: Kubernetes in one program, helm, kubeconform and the schemas that it needs, from Go modules alone; with `tools`
# without Kubernetes itself. About ten minutes of CPU from an empty cache (`tools`: four), seconds afterwards; cut short, it goes on
# where it stood.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
mkdir -p "$1"
out=$(cd "$1" && pwd)
kubernetes=v1.34.4
staging=v0.34.4
helm=v3.19.5
kubeconform=v0.7.0
prometheus_operator=v0.85.0
keda=v2.17.2

# Kubernetes' own parts are modules without versions of their own: each is named by the release that it belongs to.
parts=(api apiextensions-apiserver apimachinery apiserver cli-runtime client-go cloud-provider cluster-bootstrap code-generator
  component-base component-helpers controller-manager cri-api cri-client csi-translation-lib dynamic-resource-allocation
  endpointslice externaljwt kms kube-aggregator kube-controller-manager kube-proxy kube-scheduler kubectl kubelet metrics
  mount-utils pod-security-admission sample-apiserver sample-cli-plugin sample-controller)
module=$out/module
mkdir -p "$module"
cp "$here/main.go" "$module/main.go"
cd "$module"
cat >tools.go <<'GO'
//go:build tools

package main

import (
	_ "github.com/yannh/kubeconform/cmd/kubeconform"
	_ "helm.sh/helm/v3/cmd/helm"
)
GO
if [ ! -f go.sum ]; then
  {
    echo "module tidemark.local/control"
    echo "go 1.24.0"
    echo "godebug default=go1.24"
    echo "require k8s.io/kubernetes $kubernetes"
    echo "require helm.sh/helm/v3 $helm"
    echo "require github.com/yannh/kubeconform $kubeconform"
    for part in "${parts[@]}"; do echo "replace k8s.io/$part => k8s.io/$part $staging"; done
  } >go.mod
  go mod tidy
fi

# Where a module lies that is only read.
folder_of() { go mod download -json "$1" | sed -n 's/^\t"Dir": "\(.*\)",\{0,1\}$/\1/p'; }

monitoring=$(folder_of "github.com/prometheus-operator/prometheus-operator@$prometheus_operator")/example/prometheus-operator-crd
scaling=$(folder_of "github.com/kedacore/keda/v2@$keda")/config/crd/bases
mkdir -p "$out/definitions"
install -m 644 "$monitoring"/monitoring.coreos.com_{servicemonitors,podmonitors,prometheusrules}.yaml \
  "$scaling"/keda.sh_scaledobjects.yaml "$out/definitions"
node "$here/../schemas.mjs" "$(folder_of "k8s.io/kubernetes@$kubernetes")/api/openapi-spec/swagger.json" "$out/schemas" "$out/definitions"/*.yaml

IFS=. read -r major minor _ <<<"${kubernetes#v}"
flags=
for package in k8s.io/component-base/version k8s.io/client-go/pkg/version; do
  flags+=" -X $package.gitVersion=$kubernetes -X $package.gitMajor=$major -X $package.gitMinor=$minor"
  flags+=" -X $package.gitTreeState=clean -X $package.buildDate=1970-01-01T00:00:00Z"
done
# Without them helm takes itself for one of Kubernetes 1.20.
helm_flags=
for package in pkg/lint/rules pkg/chartutil; do
  helm_flags+=" -X helm.sh/helm/v3/$package.k8sVersionMajor=$major -X helm.sh/helm/v3/$package.k8sVersionMinor=$minor"
done
export CGO_ENABLED=0
go build -trimpath -ldflags "-s -w $helm_flags" -o "$out/helm" helm.sh/helm/v3/cmd/helm
go build -trimpath -ldflags "-s -w" -o "$out/kubeconform" github.com/yannh/kubeconform/cmd/kubeconform
[ "${2:-}" = tools ] && exit 0
go build -trimpath -ldflags "-s -w $flags" -o "$out/control" .
for name in kube-apiserver kube-controller-manager kube-scheduler kube-proxy kubelet kubectl; do
  ln -sf control "$out/$name"
done
