import type {
  Attributes,
  Context,
  Link,
  Span,
  SpanContext,
  SpanKind,
  Tracer,
} from '@opentelemetry/api';
import { trace } from '@opentelemetry/api';

export type RecordedSpan = {
  readonly name: string;
  readonly kind: SpanKind | undefined;
  readonly context: SpanContext;
  readonly parent: SpanContext | undefined;
  readonly links: Link[];
  readonly attributes: Attributes;
  isEnded: boolean;
};

/** A maker of spans that keeps them all, with ids that count up. */
export function recordedSpans(): { readonly spans: Tracer; readonly recorded: RecordedSpan[] } {
  const recorded: RecordedSpan[] = [];
  const startSpan: Tracer['startSpan'] = (name, options = {}, from?: Context) => {
    const parent = from === undefined ? undefined : trace.getSpanContext(from);
    const id = (recorded.length + 1).toString(16);
    const context: SpanContext = {
      traceId: parent?.traceId ?? id.padStart(32, '0'),
      spanId: id.padStart(16, '0'),
      traceFlags: 1,
    };
    const one: RecordedSpan = {
      name,
      kind: options.kind,
      context,
      parent: options.root === true ? undefined : parent,
      links: [...(options.links ?? [])],
      attributes: { ...options.attributes },
      isEnded: false,
    };
    recorded.push(one);
    const span: Span = {
      spanContext: () => context,
      setAttribute: (key, value) => {
        one.attributes[key] = value;
        return span;
      },
      setAttributes: (attributes) => {
        Object.assign(one.attributes, attributes);
        return span;
      },
      addEvent: () => span,
      addLink: (link) => {
        one.links.push(link);
        return span;
      },
      addLinks: (links) => {
        one.links.push(...links);
        return span;
      },
      setStatus: () => span,
      updateName: () => span,
      end: () => {
        one.isEnded = true;
      },
      isRecording: () => !one.isEnded,
      recordException: () => undefined,
    };
    return span;
  };
  const spans = { startSpan, startActiveSpan: () => undefined } as unknown as Tracer;
  return { spans, recorded };
}
