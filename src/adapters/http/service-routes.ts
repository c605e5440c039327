import { HttpProblem } from './http-problem.ts';
import { openApiDocument } from './openapi.ts';
import type { Reply, Route, RouteRequest } from './route-table.ts';
import type { RefreshAction, ServiceApi, Verdict } from './service-api.ts';

const eventsDefault = 100;
const eventsMax = 1_000;

/** The interface as `openapi.ts` describes it: the same paths, methods, parameters and statuses. */
export function serviceRoutes(api: ServiceApi, version: string): readonly Route[] {
  const openApi = json(openApiDocument(version));
  return [
    probe('/healthz', () => api.alive()),
    probe('/livez', () => api.alive()),
    probe('/startupz', () => api.started()),
    probe('/readyz', () => api.ready()),
    open('/metrics', async () => {
      const { contentType, text } = await api.metrics();
      return { status: 200, contentType, body: text };
    }),
    open('/openapi.json', () => openApi),
    guarded('/v1/pipeline', [], () => json(api.pipeline())),
    guarded('/v1/flows', [], () => json({ flows: api.flows() })),
    guarded('/v1/flows/{flow}', [], ({ params }) => {
      const name = params['flow'] ?? '';
      return json(api.flow(name) ?? unknown('flow', name));
    }),
    guarded('/v1/tables', [], () => json({ tables: api.tables() })),
    guarded('/v1/tables/{table}', [], ({ params }) => {
      const name = params['table'] ?? '';
      return json(api.table(name) ?? unknown('table', name));
    }),
    guarded('/v1/tables/{table}/rows', ['key'], async ({ params, query }) => {
      const name = params['table'] ?? '';
      return jsonText((await api.rows(name, keyOf(query))) ?? unknown('table', name));
    }),
    guarded('/v1/tables/{table}/why', ['key'], async ({ params, query }) => {
      const name = params['table'] ?? '';
      return jsonText((await api.why(name, keyOf(query))) ?? unknown('table', name));
    }),
    {
      ...guarded('/v1/tables/{table}/refresh', [], async ({ params, body }) => {
        const name = params['table'] ?? '';
        const done = (await api.refresh(name, refreshAction(body))) ?? unknown('table', name);
        return { ...json(done.body), status: done.isOver ? 200 : 202 };
      }),
      method: 'POST',
    },
    guarded('/v1/gaps', [], async () => json({ gaps: await api.gaps() })),
    guarded('/v1/events', ['flow', 'after', 'limit'], (request) => {
      const events = api.events({
        flow: request.query.get('flow'),
        after: whole(request, 'after', Number.MAX_SAFE_INTEGER),
        limit: whole(request, 'limit', eventsMax) ?? eventsDefault,
      });
      return json({ events });
    }),
  ];
}

type Handle = Route['handle'];

function open(path: string, handle: Handle): Route {
  return { method: 'GET', path, access: 'open', query: [], handle };
}

function guarded(path: string, query: readonly string[], handle: Handle): Route {
  return { method: 'GET', path, access: 'guarded', query, handle };
}

/** 200 or 503, with what speaks against it: the kubelet shows it in the events of the pod. */
function probe(path: string, verdict: () => Verdict): Route {
  return open(path, () => {
    const { reasons } = verdict();
    const isFine = reasons.length === 0;
    return { ...json({ status: isFine ? 'ok' : 'failing', reasons }), status: isFine ? 200 : 503 };
  });
}

function keyOf(query: RouteRequest['query']): string {
  const key = query.get('key');
  if (key !== undefined) return key;
  throw new HttpProblem('BAD_REQUEST', 'query parameter "key" is missing', {
    hint: 'Give the key as a JSON object of the key columns, such as key={"id":42}, URL-encoded.',
  });
}

const refreshFlags = ['inPlace', 'allowLoss', 'keepUnrecoverable'];

/** What the schema RefreshRequest of the OpenAPI document says, and nothing else. */
function refreshAction(body: unknown): RefreshAction {
  const given = typeof body === 'object' && body !== null ? Object.entries(body) : [];
  for (const [name, value] of given) {
    const isRight =
      name === 'action'
        ? value === 'plan' || value === 'start' || value === 'cancel'
        : refreshFlags.includes(name) && typeof value === 'boolean';
    if (!isRight) {
      throw new HttpProblem('BAD_REQUEST', `member "${name}" of the body is not as it has to be`, {
        hint: refreshHint,
      });
    }
  }
  if (!given.some(([name]) => name === 'action')) {
    throw new HttpProblem('BAD_REQUEST', 'member "action" of the body is missing', {
      hint: refreshHint,
    });
  }
  return body as RefreshAction;
}

const refreshHint =
  'Send {"action": "plan"}, "start" or "cancel"; with start also inPlace, allowLoss and keepUnrecoverable, true or false.';

function json(value: unknown): Reply {
  return jsonText(JSON.stringify(value));
}

function jsonText(text: string): Reply {
  return { status: 200, contentType: 'application/json', body: `${text}\n` };
}

function unknown(kind: 'flow' | 'table', name: string): never {
  throw new HttpProblem('NOT_FOUND', `the pipeline has no ${kind} "${name}"`, {
    hint: `GET /v1/${kind}s lists them.`,
  });
}

function whole({ query }: RouteRequest, name: string, max: number): number | undefined {
  const text = query.get(name);
  if (text === undefined) return undefined;
  const number = Number(text);
  if (/^\d{1,16}$/.test(text) && number <= max) return number;
  throw new HttpProblem('BAD_REQUEST', `query parameter "${name}" is no whole number up to ${max}`);
}
