/**
 * The one declaration of every option of the service. From it come the types, the environment names, the
 * flags, the help and the documentation. What changes results is never here: it stands in the pipeline's files.
 */
export type OptionDeclaration = {
  readonly name: string;
  readonly kind: 'string' | 'int' | 'boolean' | 'choice' | 'list';
  readonly default: string | number | boolean | readonly string[] | undefined;
  readonly choices?: readonly string[];
  readonly min?: number;
  readonly max?: number;
  /** Masked wherever it is shown. */
  readonly secret?: boolean;
  readonly doc: string;
};

const declared = [
  {
    name: 'pipeline.name',
    kind: 'string',
    default: undefined,
    doc: 'Name of the pipeline: prefix of its groups, its internal topics and its transactional ids. It has no dot: the first one in `<pipeline>.<flow>` ends it.',
  },
  {
    name: 'pipeline.files',
    kind: 'list',
    default: [],
    doc: 'The SQL files of the pipeline, for verbs that are given none.',
  },
  {
    name: 'instance.name',
    kind: 'string',
    default: undefined,
    doc: 'Stable name of this process within the pipeline. Default: the host name, which is the pod name on Kubernetes; of an update (run --once) with -once behind it, of a second process on the host with -2 and so on, so that none takes the place of another.',
  },
  {
    name: 'kafka.brokers',
    kind: 'list',
    default: [],
    doc: 'Bootstrap brokers as host:port, separated by commas.',
  },
  {
    name: 'kafka.clientId',
    kind: 'string',
    default: 'tidemark',
    doc: 'Client id that the brokers see.',
  },
  {
    name: 'kafka.replicationFactor',
    kind: 'int',
    default: -1,
    min: -1,
    max: 32767,
    doc: "Replication factor of topics that Tidemark creates; -1 takes the broker's default.",
  },
  {
    name: 'kafka.compression',
    kind: 'choice',
    choices: ['none', 'gzip', 'snappy', 'lz4', 'zstd'],
    default: 'lz4',
    doc: 'Compression of what Tidemark writes. Whoever reads the tables has to know it: every client reads gzip, but some, such as kafkajs, read lz4, snappy and zstd with a further codec only.',
  },
  {
    name: 'kafka.transactionTimeoutMs',
    kind: 'int',
    default: 60000,
    min: 1000,
    max: 900000,
    doc: 'After this long without an end, the broker aborts a transaction.',
  },
  { name: 'kafka.ssl', kind: 'boolean', default: false, doc: 'Whether to use TLS.' },
  {
    name: 'kafka.sslCaFile',
    kind: 'string',
    default: undefined,
    doc: 'PEM file of the certificate authorities that sign the brokers.',
  },
  {
    name: 'kafka.sslCertFile',
    kind: 'string',
    default: undefined,
    doc: 'PEM file of the client certificate (mutual TLS).',
  },
  {
    name: 'kafka.sslKeyFile',
    kind: 'string',
    default: undefined,
    doc: 'PEM file of the key of the client certificate.',
  },
  {
    name: 'kafka.saslMechanism',
    kind: 'choice',
    choices: ['none', 'plain', 'scram-sha-256', 'scram-sha-512', 'oauthbearer'],
    default: 'none',
    doc: 'SASL mechanism.',
  },
  { name: 'kafka.saslUsername', kind: 'string', default: undefined, doc: 'SASL user name.' },
  {
    name: 'kafka.saslPassword',
    kind: 'string',
    default: undefined,
    secret: true,
    doc: 'SASL password. Only by environment, or from a file with kafka.saslPasswordFile.',
  },
  {
    name: 'kafka.saslPasswordFile',
    kind: 'string',
    default: undefined,
    doc: 'File whose content is the SASL password (or the token for oauthbearer).',
  },
  {
    name: 'state.kind',
    kind: 'choice',
    choices: ['redis', 'embedded'],
    default: 'embedded',
    doc: 'Where the keyed state is cached: Redis for several instances, embedded for one machine.',
  },
  {
    name: 'state.directory',
    kind: 'string',
    default: '.tidemark/state',
    doc: 'Directory of the embedded state store.',
  },
  {
    name: 'state.cacheBytes',
    kind: 'int',
    default: undefined,
    min: 1048576,
    max: 8589934592,
    doc: 'Bound of the cache in front of the state store, in bytes per table partition. Default: 67108864 with Redis; 8388608 with the embedded state, whose index is in memory anyway.',
  },
  {
    name: 'redis.url',
    kind: 'string',
    default: undefined,
    secret: true,
    doc: 'URL of Redis: redis://, or rediss:// for TLS, with user and password where needed. With sentinels or cluster nodes its host is not used, and it may be left out.',
  },
  {
    name: 'redis.urlFile',
    kind: 'string',
    default: undefined,
    doc: 'File whose content is the URL of Redis.',
  },
  {
    name: 'redis.username',
    kind: 'string',
    default: undefined,
    doc: 'User of the access control list of Redis; takes the place of the one in the URL.',
  },
  {
    name: 'redis.password',
    kind: 'string',
    default: undefined,
    secret: true,
    doc: 'Password of that user; takes the place of the one in the URL. Only by environment, or from a file with redis.passwordFile.',
  },
  {
    name: 'redis.passwordFile',
    kind: 'string',
    default: undefined,
    doc: 'File whose content is the password of Redis.',
  },
  {
    name: 'redis.tls',
    kind: 'boolean',
    default: false,
    doc: 'Whether to use TLS to Redis; rediss:// says the same.',
  },
  {
    name: 'redis.tlsCaFile',
    kind: 'string',
    default: undefined,
    doc: 'PEM file of the certificate authorities that sign the servers of Redis.',
  },
  {
    name: 'redis.tlsCertFile',
    kind: 'string',
    default: undefined,
    doc: 'PEM file of the client certificate for Redis (mutual TLS).',
  },
  {
    name: 'redis.tlsKeyFile',
    kind: 'string',
    default: undefined,
    doc: 'PEM file of the key of the client certificate for Redis.',
  },
  {
    name: 'redis.sentinels',
    kind: 'list',
    default: [],
    doc: 'Sentinels as host:port, separated by commas: the master is asked of them.',
  },
  {
    name: 'redis.sentinelMaster',
    kind: 'string',
    default: undefined,
    doc: 'Name of the master that the sentinels watch.',
  },
  {
    name: 'redis.sentinelUsername',
    kind: 'string',
    default: undefined,
    doc: 'User of the sentinels themselves.',
  },
  {
    name: 'redis.sentinelPassword',
    kind: 'string',
    default: undefined,
    secret: true,
    doc: 'Password of the sentinels themselves. Only by environment, or from a file with redis.sentinelPasswordFile.',
  },
  {
    name: 'redis.sentinelPasswordFile',
    kind: 'string',
    default: undefined,
    doc: 'File whose content is the password of the sentinels.',
  },
  {
    name: 'redis.sentinelTls',
    kind: 'boolean',
    default: false,
    doc: 'Whether the sentinels themselves speak TLS, with the same certificates.',
  },
  {
    name: 'redis.clusterNodes',
    kind: 'list',
    default: [],
    doc: 'Nodes of a Redis Cluster as host:port, separated by commas; one that answers is enough.',
  },
  {
    name: 'redis.commandTimeoutMs',
    kind: 'int',
    default: 5000,
    min: 100,
    max: 120000,
    doc: 'Deadline of one command to Redis.',
  },
  {
    name: 'delivery',
    kind: 'choice',
    choices: ['exactly_once', 'at_least_once'],
    default: 'exactly_once',
    doc: 'exactly_once commits outputs and offsets in one transaction; at_least_once may repeat rows of append flows after a failure.',
  },
  {
    name: 'commit.intervalMs',
    kind: 'int',
    default: 100,
    min: 1,
    max: 60000,
    doc: 'Longest time between a record and the commit of its effects.',
  },
  {
    name: 'views.intervalMs',
    kind: 'int',
    default: 10000,
    min: 100,
    max: 86400000,
    doc: 'How long a materialized view rests after it was computed, where it has no refresh_every of its own.',
  },
  {
    name: 'commit.recordsMax',
    kind: 'int',
    default: 50000,
    min: 1,
    max: 10000000,
    doc: 'Records after which a commit is made without waiting for the interval.',
  },
  {
    name: 'commit.bytesMax',
    kind: 'int',
    default: 67108864,
    min: 1048576,
    max: 1073741824,
    doc: 'Bytes, fetched and in memory, after which a commit is made without waiting for the interval.',
  },
  {
    name: 'flow.shuffle',
    kind: 'choice',
    choices: ['memory', 'topic'],
    default: 'memory',
    doc: 'How rows reach the table partitions that the same instance has: in memory, or through the repartition topic, as those of other instances do. The result is the same.',
  },
  {
    name: 'group.sessionTimeoutMs',
    kind: 'int',
    default: 6000,
    min: 1000,
    max: 1800000,
    doc: 'After this long without a sign of life, an instance loses its partitions. The default is the least that brokers accept unless told otherwise (group.min.session.timeout.ms): whoever reads the output sees it stand still for less than 10 s when an instance dies.',
  },
  {
    name: 'group.rebalanceTimeoutMs',
    kind: 'int',
    default: 60000,
    min: 1000,
    max: 1800000,
    doc: 'How long a rebalance waits for an instance to finish its work.',
  },
  {
    name: 'group.static',
    kind: 'boolean',
    default: true,
    doc: 'Static membership: an instance that was killed and comes back under its name within the session gets its partitions back without a rebalance.',
  },
  {
    name: 'group.leaveOnStop',
    kind: 'boolean',
    default: true,
    doc: 'Whether an instance that is stopped in order leaves its groups, so that others have its partitions at once. false, with group.static: its place is kept for group.sessionTimeoutMs, and an instance that is back within it finds everything where it was.',
  },
  {
    name: 'retry.delayMinMs',
    kind: 'int',
    default: 200,
    min: 1,
    max: 60000,
    doc: 'First delay after an outage of Kafka or Redis; it doubles from try to try.',
  },
  {
    name: 'retry.delayMaxMs',
    kind: 'int',
    default: 5000,
    min: 1,
    max: 600000,
    doc: 'Longest delay between two tries.',
  },
  {
    name: 'retry.startTimeoutMs',
    kind: 'int',
    default: 60000,
    min: 0,
    max: 3600000,
    doc: 'How long to wait for Kafka and Redis at the start before giving up with exit code 1. Verbs other than run and refresh wait 10000 at most, unless they are given the flag.',
  },
  {
    name: 'retry.afterFailure',
    kind: 'choice',
    choices: ['exit', 'stay'],
    default: 'exit',
    doc: 'What a continuous run does once none of its flows can go on before somebody acts. exit: it ends with code 1; stay: where the HTTP interface is served it stays, alive and not ready, so that probes, metrics and alerts tell why, until it is stopped.',
  },
  {
    name: 'http.enabled',
    kind: 'choice',
    choices: ['auto', 'true', 'false'],
    default: 'auto',
    doc: 'Whether to serve probes, metrics and the HTTP interface. auto: in a continuous run, where the port is free; true: always, and a port that is taken is an error.',
  },
  {
    name: 'http.host',
    kind: 'string',
    default: '127.0.0.1',
    doc: 'Address on which the HTTP interface listens. Beyond loopback, what tells of data needs a token.',
  },
  {
    name: 'http.port',
    kind: 'int',
    default: 8080,
    min: 0,
    max: 65535,
    doc: 'Port of the HTTP interface; 0 takes any free one.',
  },
  {
    name: 'http.token',
    kind: 'string',
    default: undefined,
    secret: true,
    doc: 'Bearer token of the HTTP interface. Only by environment, or from a file with http.tokenFile.',
  },
  {
    name: 'http.tokenFile',
    kind: 'string',
    default: undefined,
    doc: 'File whose content is the bearer token of the HTTP interface; read anew when it changes.',
  },
  {
    name: 'http.timeoutMs',
    kind: 'int',
    default: 10000,
    min: 100,
    max: 600000,
    doc: 'How long one answer of the HTTP interface may take.',
  },
  {
    name: 'http.requestsPerSecondMax',
    kind: 'int',
    default: 50,
    min: 1,
    max: 100000,
    doc: 'Requests a second that one address may send, probes and metrics apart.',
  },
  {
    name: 'http.readyLagMax',
    kind: 'int',
    default: -1,
    min: -1,
    max: 9007199254740991,
    doc: 'Lag in records down to which a flow has to catch up after it got its partitions before the instance is ready; -1 does not ask for it.',
  },
  {
    name: 'http.deadAfterMs',
    kind: 'int',
    default: 300000,
    min: 10000,
    max: 86400000,
    doc: 'How long the main loop may stand still before /healthz tells that the instance is dead.',
  },
  {
    name: 'freshness.objectiveMs',
    kind: 'int',
    default: 60000,
    min: 1,
    max: 604800000,
    doc: 'Age up to which a record that waits in a source is no reason to worry; what metrics, alerts and dashboards measure freshness by.',
  },
  {
    name: 'traces.enabled',
    kind: 'boolean',
    default: false,
    doc: 'Whether to send traces. Needs the packages @opentelemetry/sdk-trace-node, @opentelemetry/resources and @opentelemetry/exporter-trace-otlp-http beside Tidemark.',
  },
  {
    name: 'traces.endpoint',
    kind: 'string',
    default: undefined,
    doc: 'Where traces go, by OTLP over HTTP, such as http://collector:4318/v1/traces. Default: what OTEL_EXPORTER_OTLP_ENDPOINT says.',
  },
  {
    name: 'traces.perThousand',
    kind: 'int',
    default: 10,
    min: 0,
    max: 1000,
    doc: 'Share of the slices and transactions that are traced although no producer sampled a record in them, in thousandths. Those with a sampled record are always traced.',
  },
  {
    name: 'traces.propagate',
    kind: 'boolean',
    default: false,
    doc: 'Whether each output record carries the context of its transaction in the header traceparent: 68 bytes a record.',
  },
  {
    name: 'log.level',
    kind: 'choice',
    choices: ['debug', 'info', 'warn', 'error', 'silent'],
    default: 'info',
    doc: 'Least level of log lines: error needs a person, warn may need one soon, info tells what happened.',
  },
] as const satisfies readonly OptionDeclaration[];

export const optionDeclarations: readonly OptionDeclaration[] = declared;

type Declared = (typeof declared)[number];

type ValueOf<Option extends Declared> = Option extends { kind: 'int' }
  ? number
  : Option extends { kind: 'boolean' }
    ? boolean
    : Option extends { kind: 'list' }
      ? readonly string[]
      : Option extends { kind: 'choice'; choices: readonly (infer Choice)[] }
        ? Choice
        : Option['default'] extends undefined
          ? string | undefined
          : string;

/** Checked values by option name: no unknown key, no value out of its bounds. */
export type Config = {
  readonly [Option in Declared as Option['name']]: ValueOf<Option>;
};

export type OptionName = keyof Config;

/** `kafka.saslPassword` → `TIDEMARK_KAFKA_SASL_PASSWORD`. */
export function environmentName(option: string): string {
  const words = option.replaceAll('.', '_').replace(/([a-z0-9])([A-Z])/g, '$1_$2');
  return `TIDEMARK_${words.toUpperCase()}`;
}

/** `kafka.saslPassword` → `--kafka.sasl-password`. */
export function flagName(option: string): string {
  return `--${option.replace(/([a-z0-9])([A-Z])/g, '$1-$2').toLowerCase()}`;
}
