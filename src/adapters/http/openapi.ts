/** A part of an OpenAPI document. */
type Node = { readonly [name: string]: unknown };

const text = { type: 'string' };
const count = { type: 'integer', minimum: 0 };
const flag = { type: 'boolean' };
const orNull = (schema: Node): Node => ({ oneOf: [schema, { type: 'null' }] });
const list = (items: Node): Node => ({ type: 'array', items });
const ref = (name: string): Node => ({ $ref: `#/components/schemas/${name}` });

/** Every property is required unless it is named as optional; nothing else is there. */
function object(properties: Node, optional: readonly string[] = []): Node {
  return {
    type: 'object',
    properties,
    required: Object.keys(properties).filter((name) => !optional.includes(name)),
    additionalProperties: false,
  };
}

const schemas: Node = {
  Verdict: object({
    status: { type: 'string', enum: ['ok', 'failing'] },
    reasons: { ...list(text), description: 'What speaks against it; empty when it is ok.' },
  }),
  Problem: {
    ...object(
      {
        type: { type: 'string', description: 'urn:tidemark:error:CODE' },
        title: text,
        status: count,
        code: text,
        remedy: {
          type: 'string',
          enum: ['fix-input', 'retry', 'rejoin', 'rebuild-state', 'stop'],
          description: 'What the service does about it.',
        },
        detail: text,
        hint: { type: 'string', description: 'What the reader can do about it.' },
      },
      ['remedy', 'detail', 'hint'],
    ),
    description: 'RFC 9457',
  },
  Fault: object({ code: text, message: text, detail: text, hint: text }, ['detail', 'hint']),
  Pipeline: object({
    pipeline: text,
    instance: text,
    version: text,
    state: {
      type: 'string',
      enum: [
        'connecting',
        'created',
        'starting',
        'running',
        'recovering',
        'stopping',
        'stopped',
        'failed',
      ],
    },
    startedAt: { type: 'string', format: 'date-time' },
    timeZone: text,
    delivery: text,
    stateStore: text,
    ready: flag,
    sources: list(object({ name: text, topic: text, format: text })),
    tables: list(text),
    flows: list(text),
  }),
  Partition: object({
    stage: { type: 'string', enum: ['source', 'table'] },
    topic: text,
    partition: count,
    position: count,
    committed: count,
    stable: { ...count, description: 'The last stable offset, as of the last answer of the log.' },
    end: {
      ...count,
      description:
        'The end of the log; from `stable` up to it an open transaction of a producer holds back what there is.',
    },
    lag: count,
  }),
  Account: {
    ...object({
      records: count,
      tombstones: count,
      deadLettered: count,
      skipped: {
        ...count,
        description: 'Of deadLettered, the records that checkpoint skip had the flow step over.',
      },
      rows: count,
      filtered: count,
      dropped: count,
      late: count,
      new: count,
      replacing: count,
      tied: count,
      superseded: count,
      duplicate: count,
      distinct: count,
      limited: count,
      expectations: {
        type: 'object',
        additionalProperties: object({ passed: count, failed: count }),
      },
    }),
    description: 'Since the first start of the flow, over the partitions of this instance.',
  },
  BadRow: {
    ...object({
      topic: text,
      partition: count,
      offset: count,
      errorClass: text,
      message: text,
      at: { type: 'string', format: 'date-time' },
    }),
    description:
      'The last row that went to the dead-letter topic since this instance has its partition.',
  },
  Flow: object({
    flow: text,
    table: text,
    kind: text,
    group: text,
    state: { type: 'string', enum: ['waiting', 'restoring', 'running', 'paused', 'failed'] },
    error: orNull(ref('Fault')),
    lag: { ...count, description: 'Over the partitions of this instance.' },
    outputRecords: count,
    lastBadRow: orNull(ref('BadRow')),
    sources: list(text),
    partitions: list(ref('Partition')),
    account: ref('Account'),
  }),
  Table: object({
    table: text,
    topic: text,
    flow: orNull(text),
    output: { type: 'string', enum: ['row_set', 'rows'] },
    keys: list(text),
    columns: list(object({ name: text, type: text })),
    expectations: list(object({ name: text, action: text, sql: text })),
    deadLetterTopic: orNull(text),
    refresh: {
      ...orNull(ref('Refresh')),
      description: 'The full refresh that was asked for last at this instance.',
    },
  }),
  RowSet: object({
    key: { type: 'object', description: 'The key columns.' },
    sequence: { description: 'Null when the key has no rows.' },
    rows: list({ type: 'object', description: 'The columns of the table.' }),
    sources: list(
      object({
        row: count,
        joined: {
          ...flag,
          description:
            'The row came from a pair of records, by a join of two streams: no place is told.',
        },
        topic: orNull(text),
        topicId: orNull(text),
        partition: orNull(count),
        offset: orNull(count),
        branch: count,
        index: count,
      }),
    ),
    readFrom: {
      type: 'string',
      enum: ['state', 'log'],
      description: 'The state of this instance, or the output topic.',
    },
  }),
  RefreshRequest: object(
    {
      action: { type: 'string', enum: ['plan', 'start', 'cancel'] },
      inPlace: { ...flag, description: 'Empty the table first, instead of building beside it.' },
      allowLoss: { ...flag, description: 'Accept that what can not be read again goes.' },
      keepUnrecoverable: { ...flag, description: 'Keep what can not be read again.' },
    },
    ['inPlace', 'allowLoss', 'keepUnrecoverable'],
  ),
  Refresh: object({
    state: { type: 'string', enum: ['running', 'done', 'failed'] },
    startedAt: { type: 'string', format: 'date-time' },
    endedAt: orNull({ type: 'string', format: 'date-time' }),
    error: orNull(text),
  }),
  Gap: object({
    id: text,
    kind: {
      type: 'string',
      enum: [
        'expired',
        'shrunk',
        'recreated',
        'moved',
        'checkpoint_lost',
        'refreshed',
        'rows_gone',
        'dead_letters_gone',
      ],
    },
    flow: text,
    topic: text,
    partition: count,
    from: orNull(count),
    to: count,
    lostRecords: orNull(count),
    text: text,
    detectedAt: { type: 'string', format: 'date-time' },
    acceptedAt: orNull({ type: 'string', format: 'date-time' }),
    refreshedAt: orNull({ type: 'string', format: 'date-time' }),
  }),
  Event: {
    type: 'object',
    properties: { id: count, at: { type: 'string', format: 'date-time' }, event: text, flow: text },
    required: ['id', 'at', 'event'],
    description: 'What else there is depends on the event.',
  },
};

type Operation = {
  readonly summary: string;
  readonly answer: Node;
  readonly isGuarded: boolean;
  readonly parameters?: readonly Node[];
  readonly statuses?: readonly number[];
  /** It is a POST with this body. */
  readonly body?: Node;
};

const problemTexts: Readonly<Record<number, string>> = {
  400: 'The request is wrong.',
  401: 'The bearer token is missing or wrong.',
  403: 'No token is configured, and the interface is not bound to a loopback address.',
  404: 'There is no such thing.',
  409: 'Refused as things stand; nothing was changed.',
  413: 'The body is too large.',
  415: 'The body is no JSON.',
  429: 'This address sends too many requests.',
  500: 'A fault of the service.',
  501: 'This version cannot do it.',
  503: 'Kafka, Redis or the service itself cannot answer now.',
  504: 'The answer took too long.',
};

const inPath = (name: string): Node => ({ name, in: 'path', required: true, schema: text });
const inQuery = (name: string, schema: Node, description: string): Node => ({
  name,
  in: 'query',
  required: name === 'key',
  schema,
  description,
});

const operations: Readonly<Record<string, Operation>> = {
  '/healthz': probe('Whether the main loop turns. Not told by Kafka or Redis being away.'),
  '/livez': probe('The same as /healthz.'),
  '/startupz': probe('Whether the groups were joined; does not wait for restores.'),
  '/readyz': probe('Whether everything assigned is restored and has caught up once.'),
  '/metrics': {
    summary: 'The metrics, for Prometheus.',
    answer: { 'text/plain': { schema: text } },
    isGuarded: false,
  },
  '/openapi.json': {
    summary: 'This document.',
    answer: { 'application/json': { schema: { type: 'object' } } },
    isGuarded: false,
  },
  '/v1/pipeline': data('The pipeline and the state of this instance.', ref('Pipeline')),
  '/v1/flows': data('Every flow as this instance sees it.', object({ flows: list(ref('Flow')) })),
  '/v1/flows/{flow}': {
    ...data('One flow.', ref('Flow'), [404]),
    parameters: [inPath('flow')],
  },
  '/v1/tables': data('Every table.', object({ tables: list(ref('Table')) })),
  '/v1/tables/{table}': {
    ...data('One table.', ref('Table'), [404]),
    parameters: [inPath('table')],
  },
  '/v1/tables/{table}/rows': {
    ...data(
      'The committed rows of one key, and where each came from.',
      ref('RowSet'),
      [404, 409, 503, 504],
    ),
    parameters: [
      inPath('table'),
      inQuery('key', text, 'JSON object of the key columns; the plain value where there is one.'),
    ],
  },
  '/v1/tables/{table}/why': {
    ...data(
      'Why a key has the rows that it has, as the verb why tells it.',
      { type: 'object', description: 'What the verb prints with --json.' },
      [404, 409, 501, 503, 504],
    ),
    parameters: [
      inPath('table'),
      inQuery('key', text, 'JSON object of the key columns; the plain value where there is one.'),
    ],
  },
  '/v1/tables/{table}/refresh': {
    ...data(
      'Plans, starts or gives up a full refresh of the table, as the verb refresh does.',
      { type: 'object', description: 'What the verb prints with --json.' },
      [404, 409, 413, 415, 501, 503, 504],
    ),
    parameters: [inPath('table')],
    body: ref('RefreshRequest'),
  },
  '/v1/gaps': data(
    'Gaps in what the flows have read, accepted or not.',
    object({ gaps: list(ref('Gap')) }),
    [503, 504],
  ),
  '/v1/events': {
    ...data('What happened lately on this instance.', object({ events: list(ref('Event')) })),
    parameters: [
      inQuery('flow', text, 'Only events of this flow.'),
      inQuery('after', count, 'Only events after the one of this id.'),
      inQuery('limit', { ...count, maximum: 1000 }, 'How many of the newest; default 100.'),
    ],
  },
};

function probe(summary: string): Operation {
  return {
    summary,
    answer: { 'application/json': { schema: ref('Verdict') } },
    isGuarded: false,
    statuses: [503],
  };
}

function data(summary: string, schema: Node, statuses: readonly number[] = []): Operation {
  return { summary, answer: { 'application/json': { schema } }, isGuarded: true, statuses };
}

function operationOf(operation: Operation): Node {
  const { summary, answer, isGuarded, parameters = [], statuses = [], body } = operation;
  const refusals = isGuarded ? [400, 401, 403, 429, 500, 503] : [];
  const isProbe = !isGuarded && statuses.includes(503);
  const responses: Record<string, Node> = { 200: { description: 'The answer.', content: answer } };
  if (body !== undefined) {
    responses[202] = { description: 'It was begun and goes on.', content: answer };
  }
  for (const status of [...new Set([...refusals, ...statuses])].sort()) {
    responses[status] = isProbe
      ? { description: 'Not so, and why.', content: answer }
      : {
          description: problemTexts[status],
          content: { 'application/problem+json': { schema: ref('Problem') } },
        };
  }
  return {
    summary,
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(body === undefined
      ? {}
      : { requestBody: { required: true, content: { 'application/json': { schema: body } } } }),
    responses,
    security: isGuarded ? [{ token: [] }, {}] : [],
  };
}

/**
 * The description of the HTTP interface, served at /openapi.json. Invariant: it has exactly the paths of
 * `serviceRoutes`, and answers fit its schemas; a test holds both to it.
 */
export function openApiDocument(version: string): Node {
  return {
    openapi: '3.1.0',
    info: {
      title: 'Tidemark',
      version,
      summary: 'What one instance of a pipeline knows and does.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    paths: Object.fromEntries(
      Object.entries(operations).map(([path, operation]) => [
        path,
        { [operation.body === undefined ? 'get' : 'post']: operationOf(operation) },
      ]),
    ),
    components: {
      schemas,
      securitySchemes: {
        token: {
          type: 'http',
          scheme: 'bearer',
          description:
            'Needed unless the interface is bound to a loopback address without a token.',
        },
      },
    },
  };
}
