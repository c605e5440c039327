#!/usr/bin/env bash
# kafka-jars.sh [VERSION]: prints the folder with the broker's jars of that version; fetches them from
# Maven Central once (about 60 MB). The folder appears under its name only when it is complete.
set -euo pipefail

version=${1:-4.1.0}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=${SERVICES_DIR:-$here/../../.services}
mkdir -p "$root"
root=$(cd "$root" && pwd)
jars=$root/kafka-$version

exec 9>"$root/kafka-$version.lock"
flock 9
if [ ! -d "$jars" ]; then
  command -v mvn >/dev/null || { echo "maven (mvn) is needed to fetch Kafka $version" >&2; exit 1; }
  rm -rf "$jars.part"
  mvn -q -B -f "$here/kafka-pom.xml" dependency:copy-dependencies \
    -Dkafka.version="$version" -DincludeScope=runtime -DoutputDirectory="$jars.part" >&2
  mv "$jars.part" "$jars"
fi
echo "$jars"
