import { pathToFileURL } from 'node:url';
import type { Tracer as SpanMaker } from '@opentelemetry/api';
import type { Tracer } from '../../ports/tracer.ts';
import { serviceResource } from './service-resource.ts';
import { sdkPath, type TracingPackage } from './tracing-sdk.ts';

export type OpenTracerOptions = {
  readonly serviceName: string;
  readonly instance: string;
  readonly version: string;
  /** Where spans go, by OTLP over HTTP; undefined: what OTEL_EXPORTER_OTLP_ENDPOINT says. */
  readonly endpoint: string | undefined;
  readonly share: number;
  readonly propagates: boolean;
  readonly store: 'redis' | 'embedded';
  readonly environment: Readonly<Record<string, string | undefined>>;
};

export type OpenedTracer = {
  readonly tracer: Tracer;
  /** Sends what is still here. */
  close(): Promise<void>;
};

/** What is used of the SDK, which is not a dependency. */
type SdkTrace = {
  readonly NodeTracerProvider: new (options: {
    readonly spanProcessors: readonly unknown[];
    readonly resource: unknown;
  }) => {
    getTracer(name: string, version: string): SpanMaker;
    shutdown(): Promise<void>;
  };
  readonly BatchSpanProcessor: new (exporter: unknown) => unknown;
};
type SdkResources = {
  resourceFromAttributes(attributes: Readonly<Record<string, string>>): unknown;
};
type SdkExporter = {
  readonly OTLPTraceExporter: new (options: { readonly url?: string }) => unknown;
};

/**
 * Opens the tracer with an SDK that somebody has installed beside Tidemark. Invariant: nothing of it is loaded before
 * this call, so that whoever does not trace pays for none of it.
 */
export async function openTracer(options: OpenTracerOptions): Promise<OpenedTracer> {
  const { endpoint, version } = options;
  const sdk = await load<SdkTrace>('@opentelemetry/sdk-trace-node');
  const resources = await load<SdkResources>('@opentelemetry/resources');
  const exporters = await load<SdkExporter>('@opentelemetry/exporter-trace-otlp-http');
  const url = endpoint === undefined ? {} : { url: endpoint };
  const provider = new sdk.NodeTracerProvider({
    spanProcessors: [new sdk.BatchSpanProcessor(new exporters.OTLPTraceExporter(url))],
    resource: resources.resourceFromAttributes(serviceResource(options)),
  });
  const { SpanTracer } = await import('./span-tracer.ts');
  const { share, propagates, store } = options;
  const spans = provider.getTracer('tidemark', version);
  return {
    tracer: new SpanTracer({ spans, share, propagates, store, random: Math.random }),
    close: () => provider.shutdown(),
  };
}

async function load<Module>(name: TracingPackage): Promise<Module> {
  return (await import(pathToFileURL(sdkPath(name)).href)) as Module;
}
