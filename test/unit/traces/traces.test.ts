import { SpanKind } from '@opentelemetry/api';
import fc from 'fast-check';
import { afterEach, describe, expect, test } from 'vitest';
import { MemoryLog } from '../../../src/adapters/memory/memory-log.ts';
import { openTracer } from '../../../src/adapters/otel/open-tracer.ts';
import { serviceResource } from '../../../src/adapters/otel/service-resource.ts';
import { SpanTracer, type SpanTracerOptions } from '../../../src/adapters/otel/span-tracer.ts';
import { missingSdk } from '../../../src/adapters/otel/tracing-sdk.ts';
import { systemClock } from '../../../src/adapters/system/system-clock.ts';
import { FlowError } from '../../../src/base/errors.ts';
import { RefreshSpans } from '../../../src/cli/refresh-spans.ts';
import { planStep, traceListener } from '../../../src/cli/trace-listener.ts';
import { HeaderWriter } from '../../../src/data/record-headers.ts';
import type { RecordCursor } from '../../../src/ports/log.ts';
import type { SliceTrace } from '../../../src/ports/tracer.ts';
import type { RefreshRecord } from '../../../src/runtime/refresh/refresh-record.ts';
import type { RuntimeEvent } from '../../../src/runtime/runtime-events.ts';
import { SampledContexts } from '../../../src/task/sampled-contexts.ts';
import { type RecordedSpan, recordedSpans } from '../../support/recorded-spans.ts';
import { WatchedService, watchedPlan } from '../../support/watched-service.ts';

const services: WatchedService[] = [];

afterEach(async () => {
  await Promise.all(services.splice(0).map((service) => service.stop()));
});

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
const spanId = '00f067aa0ba902b7';
const traceparent = (flags: string): string => `00-${traceId}-${spanId}-${flags}`;

function tracerOf(
  options: Pick<SpanTracerOptions, 'spans'> & Partial<SpanTracerOptions>,
): SpanTracer {
  return new SpanTracer({
    share: 0,
    propagates: false,
    store: 'redis',
    random: () => 0.5,
    ...options,
  });
}

const oneRecord: SliceTrace = {
  flow: 'f',
  group: 'g',
  topic: 't',
  partition: 0,
  firstOffset: 0,
  nextOffset: 1,
  startedAtMs: 0,
  durationMs: 2,
  storeMs: 0,
  rows: {},
  links: { traceparents: [], dropped: 0 },
};

function cursor(headers: Readonly<Record<string, string>>): RecordCursor {
  const writer = new HeaderWriter();
  const entries = Object.entries(headers);
  writer.begin(entries.length);
  for (const [name, value] of entries) writer.addText(name, value);
  const bytes = writer.writer.copy();
  const none = { next: () => true, offset: 0, timestampMs: 0, keyStart: 0, keyEnd: -1 };
  return { ...none, bytes, valueStart: 0, valueEnd: -1, headersStart: 0, headersEnd: bytes.length };
}

describe('contexts of producers', () => {
  test('are seen exactly where the sampled bit is set, whatever other headers there are', () => {
    const flags = fc.integer({ min: 0, max: 255 });
    const others = fc.dictionary(fc.stringMatching(/^[a-z]{1,12}$/), fc.string(), { maxKeys: 3 });
    fc.assert(
      fc.property(flags, others, others, (flag, before, after) => {
        const contexts = new SampledContexts();
        const value = traceparent(flag.toString(16).padStart(2, '0'));
        contexts.see(cursor({ ...before, traceparent: value, ...after }));
        expect(contexts.take().traceparents).toEqual(flag % 2 === 1 ? [value] : []);
        contexts.see(cursor({ ...before, ...after }));
        expect(contexts.take().traceparents).toEqual([]);
      }),
    );
  });

  test('beyond 64 of a slice are only counted', () => {
    const contexts = new SampledContexts();
    for (let index = 0; index < 100; index += 1)
      contexts.see(cursor({ traceparent: traceparent('01') }));
    expect(contexts.take()).toMatchObject({ traceparents: { length: 64 }, dropped: 36 });
    expect(contexts.take()).toEqual({ traceparents: [], dropped: 0 });
  });

  test('that lie about themselves lead to no link', () => {
    const { spans, recorded } = recordedSpans();
    const tracer = tracerOf({ spans });
    const wrong = `00-${'0'.repeat(32)}-${spanId}-01`;
    const traceparents = ['x'.repeat(55), wrong, traceparent('01')];
    tracer.slice({ ...oneRecord, links: { traceparents, dropped: 0 } });
    expect(recorded[0]?.links).toHaveLength(1);
  });
});

async function traced(
  propagates: boolean,
): Promise<{ memory: MemoryLog; recorded: RecordedSpan[] }> {
  const memory = new MemoryLog({ clock: systemClock });
  memory.createTopic('orders', 1);
  const { spans, recorded } = recordedSpans();
  const tracer = tracerOf({ spans, propagates });
  const service = new WatchedService({ memory, tracer });
  services.push(service);
  const value = (seq: number): string => JSON.stringify({ region: 'R', item: 'i', qty: 1, seq });
  memory.produce('orders', 0, { value: value(1), headers: { traceparent: traceparent('01') } });
  memory.produce('orders', 0, { value: value(2), headers: { traceparent: traceparent('00') } });
  await service.start();
  await service.caughtUp(2);
  return { memory, recorded };
}

describe('spans', () => {
  test('a batch with a sampled record is traced, and the transaction that commits it', async () => {
    const { recorded } = await traced(false);
    const batch = recorded.find(({ name }) => name === 'process orders');
    expect(batch).toMatchObject({
      kind: SpanKind.CONSUMER,
      parent: undefined,
      links: [{ context: { traceId, spanId } }],
      attributes: {
        'messaging.system': 'kafka',
        'messaging.destination.name': 'orders',
        'messaging.batch.message_count': 2,
        'tidemark.flow': 'cur',
        'tidemark.rows.read': 2,
        'tidemark.rows.merged': 2,
        'tidemark.rows.new': 1,
        'tidemark.rows.replacing': 1,
      },
    });
    const commits = recorded.filter(({ name }) => name === 'commit');
    expect(commits).toHaveLength(1);
    expect(commits[0]).toMatchObject({
      kind: SpanKind.CLIENT,
      links: [{ context: batch?.context }],
      attributes: { 'tidemark.commit.result': 'ok', 'tidemark.transactional_id': 'p-0' },
    });
    expect(recorded.some(({ name }) => name === 'rebalance')).toBe(true);
    expect(recorded.every(({ isEnded }) => isEnded)).toBe(true);
  });

  test('output records carry the context of their transaction only where that is wished', async () => {
    const quiet = await traced(false);
    const names = (memory: MemoryLog): string[] =>
      memory.readCommitted('cur').flatMap(({ headers }) => headers.map(({ key }) => key));
    expect(names(quiet.memory)).not.toContain('traceparent');
    const { memory, recorded } = await traced(true);
    const [record] = memory.readCommitted('cur');
    expect(record?.headers.map(({ key }) => key)).toEqual([
      'traceparent',
      'tm-seq',
      'tm-src',
      'tm-gen',
    ]);
    const value = record?.headers[0]?.value?.toString() ?? '';
    const commit = recorded.find(
      ({ name, context }) => name === 'commit' && value.includes(context.spanId),
    );
    expect(value).toBe(`00-${commit?.context.traceId}-${commit?.context.spanId}-01`);
  });

  test('nothing is traced where nobody sampled and the share is 0; everything with a share of 1', () => {
    for (const [share, names] of [
      [0, []],
      [1, ['process t', 'merge state', 'commit', 'send out']],
    ] as const) {
      const { spans, recorded } = recordedSpans();
      const tracer = tracerOf({ spans, share });
      tracer.slice({ ...oneRecord, storeMs: 1 });
      tracer.commitBegins();
      tracer.commitEnds({
        result: 'ok',
        transactionalId: undefined,
        startedAtMs: 0,
        durationMs: 3,
        flushMs: 1,
        records: 1,
        sent: new Map([
          ['out', 1],
          ['other', 0],
        ]),
      });
      expect(recorded.map(({ name }) => name)).toEqual(names);
      expect(recorded.every(({ isEnded }) => isEnded)).toBe(true);
    }
  });
});

test('without an SDK the error names what to install', async () => {
  const opening = openTracer({
    serviceName: 's',
    instance: 'i',
    version: '1',
    endpoint: undefined,
    share: 1,
    propagates: false,
    store: 'redis',
    environment: {},
  });
  await expect(opening).rejects.toMatchObject({
    code: 'CONFIG_INVALID',
    message: expect.stringContaining('@opentelemetry/sdk-trace-node'),
    hint: expect.stringContaining('traces.enabled'),
  });
  expect(missingSdk()).toMatchObject({ code: 'CONFIG_INVALID' });
});

test('the variables of every SDK say what the service is called and where it runs', () => {
  const options = { serviceName: 'tidemark p', instance: 'p-0', version: '1' };
  const own = {
    'service.name': 'tidemark p',
    'service.instance.id': 'p-0',
    'service.version': '1',
  };
  expect(serviceResource({ ...options, environment: {} })).toEqual(own);
  const OTEL_RESOURCE_ATTRIBUTES =
    'deployment.environment=prod, k8s.pod.name = p%2C0 ,service.name=named,=x,nothing,bad=%zz';
  expect(serviceResource({ ...options, environment: { OTEL_RESOURCE_ATTRIBUTES } })).toEqual({
    ...own,
    'service.name': 'named',
    'deployment.environment': 'prod',
    'k8s.pod.name': 'p,0',
    bad: '%zz',
  });
  const environment = { OTEL_RESOURCE_ATTRIBUTES, OTEL_SERVICE_NAME: 'shop' };
  expect(serviceResource({ ...options, environment })['service.name']).toBe('shop');
  expect(
    serviceResource({ ...options, environment: { OTEL_SERVICE_NAME: '' } })['service.name'],
  ).toBe('tidemark p');
});

describe('every step of the list has its span', () => {
  const steps = (): { readonly spans: RecordedSpan[]; readonly tracer: SpanTracer } => {
    const { spans, recorded } = recordedSpans();
    const tracer = tracerOf({ spans });
    return { spans: recorded, tracer };
  };
  const listen = (tracer: SpanTracer, event: RuntimeEvent): void =>
    traceListener({
      tracer,
      clock: { ...systemClock, now: () => 10_000 },
      transactionalId: 'p-0',
      outputTopic: (flow) => `${flow}.out`,
    })(event);

  test('plan', () => {
    const { spans, tracer } = steps();
    tracer.step(planStep(watchedPlan(), { startedAtMs: 5, durationMs: 7 }));
    expect(spans).toMatchObject([
      {
        name: 'plan',
        kind: SpanKind.INTERNAL,
        isEnded: true,
        attributes: { 'tidemark.tables': 1, 'tidemark.flows': 1, 'tidemark.views': 0 },
      },
    ]);
  });

  test('rebalance', () => {
    const { spans, tracer } = steps();
    listen(tracer, {
      event: 'assigned',
      flow: 'cur',
      partitions: ['orders/0', 'orders/1'],
      durationMs: 400,
    });
    expect(spans).toMatchObject([
      {
        name: 'rebalance',
        kind: SpanKind.INTERNAL,
        parent: undefined,
        isEnded: true,
        attributes: { 'tidemark.flow': 'cur', 'tidemark.partitions': 2 },
      },
    ]);
  });

  test('restore', () => {
    const { spans, tracer } = steps();
    const event = { event: 'restored', flow: 'cur', partition: 3, cause: 'empty' } as const;
    listen(tracer, { ...event, records: 70, durationMs: 900 });
    expect(spans).toMatchObject([
      {
        name: 'restore cur.out',
        kind: SpanKind.INTERNAL,
        isEnded: true,
        attributes: {
          'tidemark.flow': 'cur',
          'tidemark.partition': 3,
          'tidemark.reason': 'empty',
          'tidemark.records': 70,
        },
      },
    ]);
  });

  test('full refresh, told once, by the instance that has the table, when it has ended', () => {
    const { spans, tracer } = steps();
    const record: RefreshRecord = {
      flow: 'cur',
      table: 'cur',
      mode: 'beside',
      state: 'building',
      generation: 2,
      allowLoss: false,
      keepUnrecoverable: false,
      startedAtMs: 1_000,
      changedAtMs: 1_500,
      definition: 'd',
      read: 40,
    };
    const done: RefreshRecord = { ...record, state: 'done', changedAtMs: 4_000 };
    const told = new RefreshSpans({ tracer, tellsOf: () => true });
    const other = new RefreshSpans({ tracer, tellsOf: () => false });
    // What had ended before the first look is nobody's news.
    for (const look of [[{ ...done, startedAtMs: 1 }], [record], [record], [done], [done]]) {
      told.look(look);
      other.look(look);
    }
    expect(spans).toMatchObject([
      {
        name: 'full refresh cur',
        kind: SpanKind.INTERNAL,
        isEnded: true,
        attributes: {
          'tidemark.flow': 'cur',
          'tidemark.refresh.result': 'done',
          'tidemark.generation': 2,
          'tidemark.records': 40,
        },
      },
    ]);
  });

  test('a transaction that was given up ends as an error', () => {
    const { spans, tracer } = steps();
    const links = { traceparents: [traceparent('01')], dropped: 0 };
    tracer.slice({ ...oneRecord, storeMs: 1, links });
    tracer.commitBegins();
    const error = new FlowError('PRODUCER_FENCED', 'another instance took over');
    listen(tracer, { event: 'recovering', error, attempt: 1, delayMs: 1 });
    expect(spans.map(({ name }) => name)).toEqual(['process t', 'merge state', 'commit']);
    expect(spans[1]).toMatchObject({
      kind: SpanKind.CLIENT,
      attributes: { 'db.system.name': 'redis', 'db.operation.name': 'read' },
    });
    expect(spans[2]).toMatchObject({
      isEnded: true,
      attributes: { 'tidemark.commit.result': 'fenced', 'messaging.operation.type': 'settle' },
    });
  });
});
