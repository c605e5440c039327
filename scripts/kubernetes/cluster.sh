#!/usr/bin/env bash
# A real Kubernetes on this machine, as root and without systemd or an image registry: control plane, one node on which pods
# really run, and the images that the end-to-end test needs.
#
#   scripts/kubernetes/cluster.sh build    the programs, from Go modules (control/build.sh)
#   scripts/kubernetes/cluster.sh images   base image, Kafka, Redis, Tidemark; needs a Docker engine that answers
#   scripts/kubernetes/cluster.sh up       starts everything; KUBECONFIG is then CLUSTER_DIR/admin.kubeconfig
#   scripts/kubernetes/cluster.sh down     ends what `up` started, and nothing else
#
# CLUSTER_DIR (/tmp/tidemark-cluster) holds programs, data and logs. From Debian: etcd-server, containerd, runc, iptables, conntrack,
# containernetworking-plugins; for the images docker.io, debootstrap and a JDK 17.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
dir=${CLUSTER_DIR:-/tmp/tidemark-cluster}
bin=${CLUSTER_BIN:-$dir/bin}
mkdir -p "$dir/log" "$dir/pid"
export KUBECONFIG=$dir/admin.kubeconfig
export PATH=$bin:$PATH
api=16443
etcd=12379
node_address=10.88.0.1
socket=$dir/containerd.sock

launch() { # name, command…
  local name=$1
  shift
  # Whatever the caller has open, such as a lock, must not stay open as long as the cluster runs.
  setsid nohup "$@" >"$dir/log/$name.log" 2>&1 </dev/null 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&- &
  echo $! >"$dir/pid/$name"
}

await() { # what, seconds, command…
  local what=$1 seconds=$2
  shift 2
  for _ in $(seq $((seconds * 2))); do
    "$@" >/dev/null 2>&1 && return 0
    sleep 0.5
  done
  echo "$what is not there after $seconds s; logs: $dir/log" >&2
  return 1
}

# The API server's own certificate is for the name "kubernetes".
write_kubeconfig() { # file, token
  cat >"$1" <<YAML
apiVersion: v1
kind: Config
current-context: here
contexts: [{ name: here, context: { cluster: here, user: here } }]
users: [{ name: here, user: { token: "$2" } }]
clusters:
  - name: here
    cluster:
      server: "https://127.0.0.1:$api"
      certificate-authority: "$dir/apiserver/apiserver.crt"
      tls-server-name: kubernetes
YAML
}

secrets() {
  if [ ! -f "$dir/service-accounts.key" ]; then
    openssl genrsa -out "$dir/service-accounts.key" 2048 2>/dev/null
    openssl rsa -in "$dir/service-accounts.key" -pubout -out "$dir/service-accounts.pub" 2>/dev/null
  fi
  if [ ! -f "$dir/tokens.csv" ]; then
    (umask 077; for user in admin node; do
      echo "$(openssl rand -hex 16),$user,$user,\"system:masters\""
    done >"$dir/tokens.csv")
  fi
  write_kubeconfig "$dir/admin.kubeconfig" "$(awk -F, '$2 == "admin" { print $1 }' "$dir/tokens.csv")"
  write_kubeconfig "$dir/node.kubeconfig" "$(awk -F, '$2 == "node" { print $1 }' "$dir/tokens.csv")"
}

control_plane() {
  local client=http://127.0.0.1:$etcd peer=http://127.0.0.1:$((etcd + 1))
  # A cluster is made anew each time: what it once knew of pods and their health is of none that run now.
  rm -rf "$dir/etcd"
  launch etcd etcd --data-dir "$dir/etcd" --listen-client-urls "$client" --advertise-client-urls "$client" \
    --listen-peer-urls "$peer" --initial-advertise-peer-urls "$peer" --initial-cluster "default=$peer" --log-level=warn --logger=zap
  await etcd 30 curl -fs "$client/health"
  # It refuses to advertise a loopback address.
  launch apiserver kube-apiserver --etcd-servers="$client" --secure-port=$api --bind-address=127.0.0.1 \
    --cert-dir="$dir/apiserver" --advertise-address=$node_address --endpoint-reconciler-type=none \
    --service-cluster-ip-range=10.96.0.0/16 --authorization-mode=RBAC --token-auth-file="$dir/tokens.csv" \
    --service-account-issuer=https://kubernetes.default.svc --allow-privileged=true --profiling=false \
    --service-account-signing-key-file="$dir/service-accounts.key" --service-account-key-file="$dir/service-accounts.pub"
  await 'the API server' 180 curl -kfs "https://127.0.0.1:$api/readyz"
  launch controllers kube-controller-manager --kubeconfig="$KUBECONFIG" --root-ca-file="$dir/apiserver/apiserver.crt" \
    --service-account-private-key-file="$dir/service-accounts.key" --use-service-account-credentials=true \
    --leader-elect=false --secure-port=0 --allocate-node-cidrs=false
  launch scheduler kube-scheduler --kubeconfig="$KUBECONFIG" --leader-elect=false --secure-port=0
  await 'the default service account' 90 kubectl get serviceaccount default
}

# Some machines withhold the right to lower oom_score_adj, and a Docker engine sets the policy of forwarded packets to DROP:
# hence restrict_oom_score_adj, and the firewall plugin.
node() {
  mkdir -p "$dir/cni" "$dir/kubelet"
  cat >"$dir/cni/10-pods.conflist" <<JSON
{ "cniVersion": "0.4.0", "name": "pods", "plugins": [
  { "type": "bridge", "bridge": "pods0", "isGateway": true, "ipMasq": true, "hairpinMode": true,
    "ipam": { "type": "host-local", "ranges": [[{ "subnet": "10.88.0.0/16" }]], "routes": [{ "dst": "0.0.0.0/0" }] } },
  { "type": "portmap", "capabilities": { "portMappings": true } },
  { "type": "firewall", "backend": "iptables" } ] }
JSON
  cat >"$dir/containerd.toml" <<TOML
version = 2
root = "$dir/containerd/root"
state = "$dir/containerd/state"
[grpc]
  address = "$socket"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "docker.io/local/pause:1"
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "$dir/cni"
TOML
  if ! ip link show pods0 >/dev/null 2>&1; then
    ip link add pods0 type bridge
    ip address add $node_address/16 dev pods0
    ip link set pods0 up
  fi
  launch dns node "$here/dns.mjs" "$KUBECONFIG" $node_address
  launch containerd containerd -c "$dir/containerd.toml"
  await containerd 30 ctr -a "$socket" version
  cat >"$dir/kubelet.yaml" <<YAML
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
authentication: { anonymous: { enabled: true }, webhook: { enabled: false } }
authorization: { mode: AlwaysAllow }
address: 127.0.0.1
port: 20250
readOnlyPort: 0
healthzPort: 0
cgroupDriver: cgroupfs
containerRuntimeEndpoint: unix://$socket
failSwapOn: false
clusterDomain: cluster.local
clusterDNS: [$node_address]
resolvConf: /etc/resolv.conf
evictionHard: { memory.available: "100Mi", nodefs.available: "1%", imagefs.available: "1%", nodefs.inodesFree: "1%" }
imageGCHighThresholdPercent: 100
localStorageCapacityIsolation: false
podLogsDir: $dir/podlogs
YAML
  # The API server reaches it by its name, for logs and exec.
  launch kubelet kubelet --config="$dir/kubelet.yaml" --kubeconfig="$dir/node.kubeconfig" --root-dir="$dir/kubelet" \
    --cert-dir="$dir/kubelet/pki" --hostname-override=localhost --node-ip=$node_address
  cat >"$dir/proxy.yaml" <<YAML
apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
mode: iptables
clientConnection: { kubeconfig: $KUBECONFIG }
hostnameOverride: localhost
clusterCIDR: 10.88.0.0/16
conntrack: { maxPerCore: 0, min: 0 }
healthzBindAddress: "127.0.0.1:20256"
metricsBindAddress: "127.0.0.1:20249"
YAML
  launch proxy kube-proxy --config="$dir/proxy.yaml"
  await 'a ready node' 120 kubectl wait node/localhost --for=condition=Ready --timeout=1s
}

load_images() {
  docker save local/pause:1 local/cp-kafka:8.1.0 local/redis:7 tidemark:e2e | ctr -a "$socket" -n k8s.io images import - >/dev/null
}

end_process() { # name
  [ -f "$dir/pid/$1" ] || return 0
  kill "$(cat "$dir/pid/$1")" 2>/dev/null || true
  rm -f "$dir/pid/$1"
}

down() {
  kubectl delete deployment,statefulset,job,pod --all --all-namespaces --grace-period=5 --timeout=40s >/dev/null 2>&1 || true
  for name in kubelet proxy dns scheduler controllers apiserver; do end_process "$name"; done
  if [ -S "$socket" ]; then
    for task in $(ctr -a "$socket" -n k8s.io tasks ls -q 2>/dev/null); do
      ctr -a "$socket" -n k8s.io tasks kill -s KILL "$task" 2>/dev/null || true
    done
    sleep 1
  fi
  end_process containerd
  end_process etcd
  sleep 1
  awk -v dir="$dir/" 'index($2, dir) == 1 { print $2 }' /proc/mounts | sort -r | xargs -r -n1 umount -l 2>/dev/null || true
  kube-proxy --cleanup >/dev/null 2>&1 || true
  ip link delete pods0 2>/dev/null || true
}

case ${1:-} in
  build) "$here/control/build.sh" "$bin" ;;
  images) "$here/images/build.sh" ;;
  up)
    secrets
    control_plane
    node
    # Kinds of operators that are not here: the API server checks objects of theirs all the same.
    kubectl apply --server-side -f "$bin/definitions" >/dev/null
    load_images
    echo "KUBECONFIG=$KUBECONFIG"
    ;;
  down) down ;;
  *)
    sed -n '2,12p' "$0"
    exit 2
    ;;
esac
