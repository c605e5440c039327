import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { HttpProblem, problemDocument } from '../../../src/adapters/http/http-problem.ts';
import { openApiDocument } from '../../../src/adapters/http/openapi.ts';
import { FlowError } from '../../../src/base/errors.ts';

const statuses = [
  ['USAGE', 400],
  ['TOPIC_MISSING', 404],
  ['DATA_LOSS_REFUSED', 409],
  ['DEFINITION_CHANGED', 409],
  ['DEFINITION_MISSING', 409],
  ['CHECKPOINT_MISSING', 409],
  ['SOURCE_REFRESHED', 409],
  ['TOPIC_RECREATED', 409],
  ['BAD_ROW', 409],
  ['GROUP_BUSY', 409],
  ['TABLE_LOCKED', 409],
  ['NOT_SUPPORTED', 501],
  ['BROKER_UNAVAILABLE', 503],
  ['STATE_UNAVAILABLE', 503],
  ['TASK_MIGRATED', 503],
  ['TASK_CORRUPTED', 503],
  ['NOT_AUTHORIZED', 500],
  ['CONFIG_INVALID', 500],
  ['RECORD_CORRUPT', 500],
] as const;

test.each(statuses)('%s is answered with %i', (code, status) => {
  expect(problemDocument(new FlowError(code, 'it is refused'))).toMatchObject({
    type: `urn:tidemark:error:${code}`,
    status,
    code,
  });
});

test.each([
  '`USAGE` with 400',
  '`TOPIC_MISSING` with 404',
  '`DATA_LOSS_REFUSED`, `DEFINITION_CHANGED`, `GROUP_BUSY`, `TABLE_LOCKED` and the like) with 409',
  '`NOT_SUPPORTED` with 501',
  'with 503',
])('operations.md says so: %s', (text) => {
  const page = readFileSync('docs/operations.md', 'utf8').replaceAll(/\s+/g, ' ');
  expect(page).toContain(text);
});

describe('the document of the interface', () => {
  type Operation = { readonly responses: Readonly<Record<string, unknown>> };
  const paths = openApiDocument('1.2.3')['paths'] as Record<string, Record<string, Operation>>;
  const statusesOf = (path: string): number[] =>
    Object.keys(Object.values(paths[path] ?? {})[0]?.responses ?? {}).map(Number);
  const guarded = [400, 401, 403, 429, 500, 503];

  test.each([
    ['/healthz', [200, 503]],
    ['/livez', [200, 503]],
    ['/readyz', [200, 503]],
    ['/startupz', [200, 503]],
    ['/metrics', [200]],
    ['/openapi.json', [200]],
    ['/v1/pipeline', [200, ...guarded]],
    ['/v1/flows', [200, ...guarded]],
    ['/v1/flows/{flow}', [200, 404, ...guarded]],
    ['/v1/tables', [200, ...guarded]],
    ['/v1/tables/{table}', [200, 404, ...guarded]],
    ['/v1/tables/{table}/rows', [200, 404, 409, 504, ...guarded]],
    ['/v1/tables/{table}/why', [200, 404, 409, 501, 504, ...guarded]],
    ['/v1/tables/{table}/refresh', [200, 202, 404, 409, 413, 415, 501, 504, ...guarded]],
    ['/v1/gaps', [200, 504, ...guarded]],
    ['/v1/events', [200, ...guarded]],
  ])('%s lists every status that it may have: %j', (path, expected) => {
    expect(statusesOf(path)).toEqual(expected.sort((a, b) => a - b));
  });

  test('there is no other resource', () => {
    expect(Object.keys(paths)).toHaveLength(16);
  });

  test('what a verb refuses over HTTP is a status that its resource lists', () => {
    for (const [code, status] of statuses) {
      expect(statusesOf('/v1/tables/{table}/refresh'), code).toContain(status);
      expect(statusesOf('/v1/tables/{table}/why'), code).toContain(status);
    }
    const full = problemDocument(new HttpProblem('OVERLOADED', 'too many'));
    expect(statusesOf('/v1/tables/{table}/rows')).toContain(full.status);
  });
});
