import { HttpProblem } from './http-problem.ts';

export type RouteRequest = {
  readonly params: Readonly<Record<string, string>>;
  readonly query: ReadonlyMap<string, string>;
  /** What came with a POST, as JSON; undefined with a GET. */
  readonly body: unknown;
};

export type Reply = {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
};

export type Route = {
  readonly method: 'GET' | 'POST';
  /** With parameters in braces: `/v1/tables/{table}`. */
  readonly path: string;
  /** `open`: for whoever can connect, as probes and scrapes need it; `guarded`: tells of data, so it needs the token. */
  readonly access: 'open' | 'guarded';
  /** Query parameters that it takes; any other one is refused. */
  readonly query: readonly string[];
  readonly handle: (request: RouteRequest) => Reply | Promise<Reply>;
};

export type MatchedRoute = {
  readonly route: Route;
  readonly request: Omit<RouteRequest, 'body'>;
};

/**
 * Finds the route of a request. Invariant: what it gives has exactly the declared parameters, decoded, and no query
 * parameter that the route does not know; everything else is a problem that says what would be right.
 */
export class RouteTable {
  readonly #routes: readonly { readonly route: Route; readonly parts: readonly string[] }[];

  constructor(routes: readonly Route[]) {
    this.#routes = routes.map((route) => ({ route, parts: route.path.split('/') }));
  }

  match(method: string, target: string): MatchedRoute {
    const [path = '', ...rest] = target.split('?');
    const parts = path.split('/');
    const found = this.#routes.filter((one) => fits(one.parts, parts));
    // A fixed word goes before a parameter.
    found.sort((a, b) => parameterCount(a.parts) - parameterCount(b.parts));
    const [first] = found;
    if (first === undefined) {
      throw new HttpProblem('NOT_FOUND', 'there is no such resource', {
        hint: 'GET /openapi.json lists every resource.',
      });
    }
    // Two methods may share a path.
    const { route } =
      found.find((one) => one.route.method === method && one.route.path === first.route.path) ??
      first;
    if (method !== route.method && !(method === 'HEAD' && route.method === 'GET')) {
      const allow = route.method === 'GET' ? 'GET, HEAD' : route.method;
      throw new HttpProblem('METHOD_NOT_ALLOWED', `${route.path} does not take ${method}`, {
        headers: { allow },
      });
    }
    return {
      route,
      request: { params: paramsOf(first.parts, parts), query: queryOf(route, rest.join('?')) },
    };
  }
}

function fits(pattern: readonly string[], parts: readonly string[]): boolean {
  return (
    pattern.length === parts.length &&
    pattern.every((part, index) =>
      isParameter(part) ? parts[index] !== '' : part === parts[index],
    )
  );
}

function isParameter(part: string): boolean {
  return part.startsWith('{');
}

function parameterCount(pattern: readonly string[]): number {
  return pattern.filter(isParameter).length;
}

function paramsOf(pattern: readonly string[], parts: readonly string[]): Record<string, string> {
  const params: Record<string, string> = {};
  for (const [index, part] of pattern.entries()) {
    if (!isParameter(part)) continue;
    try {
      params[part.slice(1, -1)] = decodeURIComponent(parts[index] ?? '');
    } catch {
      throw new HttpProblem('BAD_REQUEST', 'the path is not encoded as a URL demands it');
    }
  }
  return params;
}

function queryOf({ query: known, path }: Route, text: string): Map<string, string> {
  const query = new Map<string, string>();
  for (const [name, value] of new URLSearchParams(text)) {
    if (!known.includes(name)) {
      const takes = known.length === 0 ? 'It takes none.' : `It takes ${known.join(', ')}.`;
      throw new HttpProblem('BAD_REQUEST', `${path} has no query parameter "${name}"`, {
        hint: takes,
      });
    }
    if (query.has(name)) {
      throw new HttpProblem('BAD_REQUEST', `query parameter "${name}" is given twice`);
    }
    query.set(name, value);
  }
  return query;
}
