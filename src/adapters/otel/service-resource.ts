export type ServiceResource = {
  readonly serviceName: string;
  readonly instance: string;
  readonly version: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
};

/**
 * What every span says of the service. Invariant: the variables that every SDK of OpenTelemetry knows win over what Tidemark says of
 * itself, OTEL_SERVICE_NAME over a service.name in OTEL_RESOURCE_ATTRIBUTES; an attribute that cannot be read leaves the others.
 */
export function serviceResource(options: ServiceResource): Readonly<Record<string, string>> {
  const { serviceName, instance, version, environment } = options;
  const given = environment['OTEL_SERVICE_NAME'] ?? '';
  return {
    'service.name': serviceName,
    'service.instance.id': instance,
    'service.version': version,
    ...attributes(environment['OTEL_RESOURCE_ATTRIBUTES'] ?? ''),
    ...(given === '' ? {} : { 'service.name': given }),
  };
}

/** `name=value,…`, commas, equals signs and what is no ASCII in values percent-encoded. */
function attributes(text: string): Readonly<Record<string, string>> {
  const read: Record<string, string> = {};
  for (const part of text.split(',')) {
    const end = part.indexOf('=');
    const name = part.slice(0, Math.max(end, 0)).trim();
    if (name !== '') read[name] = decoded(part.slice(end + 1).trim());
  }
  return read;
}

function decoded(value: string): string {
  try {
    return decodeURIComponent(value);
  } catch {
    return value;
  }
}
