import {
  type Context,
  type Link,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  SpanKind,
  type Tracer as SpanMaker,
  SpanStatusCode,
  TraceFlags,
  trace,
} from '@opentelemetry/api';
import type { CommitTrace, SliceTrace, StepTrace, Tracer } from '../../ports/tracer.ts';

export type SpanTracerOptions = {
  readonly spans: SpanMaker;
  /** Of slices and transactions that no sampled context leads to, this share is traced, from 0 to 1. */
  readonly share: number;
  /** Whether output records carry the context of their transaction. */
  readonly propagates: boolean;
  readonly store: 'redis' | 'embedded';
  readonly random: () => number;
};

/** Slices that one transaction links to. */
const slicesMax = 64;

type Filling = {
  /** Started when somebody asks for its context, or when the commit begins. */
  span: Span | undefined;
  readonly slices: SpanContext[];
  slicesDropped: number;
};

/**
 * Spans of what the runtime does, by the conventions of messaging. Invariants: there is a span for a slice, a
 * transaction and a step, and never one for a record; a slice with a sampled context in it is always traced, and so is
 * the transaction that commits it.
 */
export class SpanTracer implements Tracer {
  readonly #options: SpanTracerOptions;
  #filling: Filling = emptyFilling();
  #committing: Filling | undefined;

  constructor(options: SpanTracerOptions) {
    this.#options = options;
  }

  #isDrawn(): boolean {
    const { share, random } = this.#options;
    return share > 0 && random() < share;
  }

  slice(slice: SliceTrace): void {
    const { links } = slice;
    if (links.traceparents.length === 0 && !this.#isDrawn()) return;
    const { flow, group, topic, partition, firstOffset, nextOffset, startedAtMs } = slice;
    const span = this.#options.spans.startSpan(
      `process ${topic}`,
      {
        kind: SpanKind.CONSUMER,
        root: true,
        startTime: startedAtMs,
        links: links.traceparents.flatMap(linkOf),
        attributes: {
          'messaging.system': 'kafka',
          'messaging.operation.name': 'process',
          'messaging.operation.type': 'process',
          'messaging.destination.name': topic,
          'messaging.destination.partition.id': String(partition),
          'messaging.consumer.group.name': group,
          'messaging.batch.message_count': nextOffset - firstOffset,
          'messaging.kafka.offset': firstOffset,
          'tidemark.flow': flow,
          'tidemark.last_offset': nextOffset - 1,
          'tidemark.links.dropped': links.dropped,
          ...rowAttributes(slice.rows),
        },
      },
      ROOT_CONTEXT,
    );
    this.#storeSpan(slice, trace.setSpan(ROOT_CONTEXT, span));
    span.end(startedAtMs + slice.durationMs);
    const filling = this.#filling;
    if (filling.slices.length < slicesMax) filling.slices.push(span.spanContext());
    else filling.slicesDropped += 1;
  }

  #storeSpan({ startedAtMs, storeMs }: SliceTrace, parent: Context): void {
    if (storeMs === 0) return;
    const attributes = {
      'db.system.name': this.#options.store,
      'db.operation.name': 'read',
    };
    this.#options.spans
      .startSpan(
        'merge state',
        { kind: SpanKind.CLIENT, startTime: startedAtMs, attributes },
        parent,
      )
      .end(startedAtMs + storeMs);
  }

  outgoing(): Buffer | undefined {
    if (!this.#options.propagates) return undefined;
    const context = this.#spanOf(this.#filling).spanContext();
    return Buffer.from(traceparentOf(context), 'latin1');
  }

  /** Links are added at its end, when all slices of the transaction are known. */
  #spanOf(filling: Filling): Span {
    filling.span ??= this.#options.spans.startSpan(
      'commit',
      { kind: SpanKind.CLIENT, root: true },
      ROOT_CONTEXT,
    );
    return filling.span;
  }

  commitBegins(): void {
    const filling = this.#filling;
    this.#filling = emptyFilling();
    const isTraced = filling.span !== undefined || filling.slices.length > 0 || this.#isDrawn();
    if (isTraced) this.#spanOf(filling);
    this.#committing = filling;
  }

  commitEnds(end: CommitTrace): void {
    const isOk = end.result === 'ok';
    const ended = this.#committing;
    this.#committing = undefined;
    if (ended?.span !== undefined) this.#endCommit(ended.span, ended, end);
    if (isOk) return;
    // What was being filled meanwhile is given up with it.
    const { span } = this.#filling;
    if (span !== undefined) this.#endCommit(span, this.#filling, end);
    this.#filling = emptyFilling();
  }

  #endCommit(span: Span, { slices, slicesDropped }: Filling, end: CommitTrace): void {
    const { result, transactionalId, records, sent, startedAtMs, durationMs, flushMs } = end;
    for (const context of slices) span.addLink({ context });
    span.setAttributes({
      'messaging.system': 'kafka',
      'messaging.operation.name': 'commit',
      'messaging.operation.type': 'settle',
      'messaging.batch.message_count': records,
      'tidemark.commit.result': result,
      'tidemark.links.dropped': slicesDropped,
      ...(transactionalId === undefined ? {} : { 'tidemark.transactional_id': transactionalId }),
    });
    const parent = trace.setSpan(ROOT_CONTEXT, span);
    for (const [topic, count] of flushMs === undefined ? [] : sent) {
      if (count === 0) continue;
      const attributes = {
        'messaging.system': 'kafka',
        'messaging.operation.name': 'send',
        'messaging.operation.type': 'send',
        'messaging.destination.name': topic,
        'messaging.batch.message_count': count,
      };
      const options = { kind: SpanKind.PRODUCER, startTime: startedAtMs, attributes };
      this.#options.spans
        .startSpan(`send ${topic}`, options, parent)
        .end(startedAtMs + (flushMs ?? 0));
    }
    if (result !== 'ok') span.setStatus({ code: SpanStatusCode.ERROR, message: result });
    span.end(startedAtMs + durationMs);
  }

  step({ name, startedAtMs, durationMs, attributes }: StepTrace): void {
    const options = { kind: SpanKind.INTERNAL, root: true, startTime: startedAtMs, attributes };
    this.#options.spans.startSpan(name, options, ROOT_CONTEXT).end(startedAtMs + durationMs);
  }
}

function emptyFilling(): Filling {
  return { span: undefined, slices: [], slicesDropped: 0 };
}

function rowAttributes(rows: SliceTrace['rows']): Readonly<Record<string, number>> {
  return Object.fromEntries(
    Object.entries(rows).map(([fate, count]) => [`tidemark.rows.${fate}`, count]),
  );
}

/** Nothing where the header is not what it claims to be. */
function linkOf(traceparent: string): Link[] {
  const [, traceId = '', spanId = ''] =
    /^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}$/.exec(traceparent) ?? [];
  if (traceId === '' || /^0+$/.test(traceId) || /^0+$/.test(spanId)) return [];
  return [{ context: { traceId, spanId, traceFlags: TraceFlags.SAMPLED, isRemote: true } }];
}

function traceparentOf({ traceId, spanId, traceFlags }: SpanContext): string {
  return `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`;
}
