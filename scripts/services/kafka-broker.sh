#!/usr/bin/env bash
# kafka-broker.sh DIR JARS PORT CONTROLLER_PORT [SETTING=VALUE…]: runs one KRaft broker on 127.0.0.1 in the
# foreground, its data in DIR. Started again on the same DIR it goes on with that data.
# The shell becomes the broker (exec), so the caller's pid is the broker's. A setting given later wins.
# KAFKA_FORMAT_ARGS: more arguments for the format of the storage, such as --add-scram.
set -euo pipefail

dir=$1 jars=$2 port=$3 controller=$4
shift 4
mkdir -p "$dir"
{
  cat <<S
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:$controller
listeners=PLAINTEXT://127.0.0.1:$port,CONTROLLER://127.0.0.1:$controller
advertised.listeners=PLAINTEXT://127.0.0.1:$port
controller.listener.names=CONTROLLER
inter.broker.listener.name=PLAINTEXT
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
log.dirs=$dir/data
num.partitions=1
auto.create.topics.enable=false
offsets.topic.replication.factor=1
offsets.topic.num.partitions=4
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=4
group.initial.rebalance.delay.ms=0
group.min.session.timeout.ms=1000
S
  for setting in "$@"; do echo "$setting"; done
} >"$dir/server.properties"

java=(java -cp "$jars/*" -Dorg.slf4j.simpleLogger.defaultLogLevel=warn)
if [ ! -f "$dir/data/meta.properties" ]; then
  "${java[@]}" -Xmx128m -XX:TieredStopAtLevel=1 kafka.tools.StorageTool format \
    -t 4L6g3nShT-eMCtK--X86sw ${KAFKA_FORMAT_ARGS:-} -c "$dir/server.properties" >"$dir/format.log" 2>&1 ||
    { cat "$dir/format.log" >&2; exit 1; }
fi
exec "${java[@]}" ${KAFKA_HEAP_OPTS:--Xms256m -Xmx1g} -XX:+UseG1GC kafka.Kafka "$dir/server.properties"
