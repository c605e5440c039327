import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { FlowError } from '../../base/errors.ts';

const packages = [
  '@opentelemetry/sdk-trace-node',
  '@opentelemetry/resources',
  '@opentelemetry/exporter-trace-otlp-http',
] as const;

export type TracingPackage = (typeof packages)[number];

/** Where a package of the tracing SDK is, which is no part of Tidemark: looked for beside it, then in the folder that it was started in. */
export function sdkPath(name: TracingPackage): string {
  for (const from of [import.meta.url, pathToFileURL(join(process.cwd(), 'x.js')).href]) {
    try {
      return createRequire(from).resolve(name);
    } catch {
      // The other place, then the error.
    }
  }
  throw new FlowError('CONFIG_INVALID', `traces are on, and the package ${name} is not there`, {
    detail: 'The tracing SDK is not part of Tidemark.',
    hint: `Install ${packages[0]}, ${packages[1]} and ${packages[2]} beside it (an image has them with --build-arg WITH_TRACES=1), or turn traces.enabled off.`,
  });
}

/** What a start with traces would be refused with; undefined: the whole SDK is there. Nothing of it is loaded. */
export function missingSdk(): FlowError | undefined {
  try {
    for (const name of packages) sdkPath(name);
    return undefined;
  } catch (error) {
    if (error instanceof FlowError) return error;
    throw error;
  }
}
