import { type ErrorCode, FlowError, type Remedy } from '../../base/errors.ts';

/** Codes of faults that only a request can have; everything else carries the code of its FlowError. */
export type RequestFault =
  | 'BAD_REQUEST'
  | 'UNAUTHORIZED'
  | 'FORBIDDEN'
  | 'NOT_FOUND'
  | 'METHOD_NOT_ALLOWED'
  | 'CONFLICT'
  | 'BODY_TOO_LARGE'
  | 'UNSUPPORTED_MEDIA_TYPE'
  | 'TOO_MANY_REQUESTS'
  | 'OVERLOADED'
  | 'STARTING'
  | 'NOT_BUILT'
  | 'TIMEOUT'
  | 'INTERNAL';

const statusOfFault: Readonly<Record<RequestFault, number>> = {
  BAD_REQUEST: 400,
  UNAUTHORIZED: 401,
  FORBIDDEN: 403,
  NOT_FOUND: 404,
  METHOD_NOT_ALLOWED: 405,
  CONFLICT: 409,
  BODY_TOO_LARGE: 413,
  UNSUPPORTED_MEDIA_TYPE: 415,
  TOO_MANY_REQUESTS: 429,
  OVERLOADED: 503,
  STARTING: 503,
  NOT_BUILT: 501,
  TIMEOUT: 504,
  INTERNAL: 500,
};

/** A request that is refused. The message is one short clause, the hint a whole sentence. */
export class HttpProblem extends Error {
  override readonly name = 'HttpProblem';
  readonly code: RequestFault;
  readonly hint: string | undefined;
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    code: RequestFault,
    message: string,
    options: { readonly hint?: string; readonly headers?: Readonly<Record<string, string>> } = {},
  ) {
    super(message);
    this.code = code;
    this.hint = options.hint;
    this.headers = options.headers ?? {};
  }
}

/** RFC 9457, with our code, remedy and hint as further members. */
export type ProblemDocument = {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly code: string;
  readonly remedy?: string;
  readonly detail?: string;
  readonly hint?: string;
};

/** The document for whatever a handler threw. Invariant: a bug tells nothing of itself to the outside. */
export function problemDocument(error: unknown): ProblemDocument {
  if (error instanceof HttpProblem) {
    const { code, message, hint } = error;
    return document({ code, title: message, status: statusOfFault[code], hint });
  }
  if (error instanceof FlowError) {
    const { code, message, detail, hint, remedy } = error;
    return document({ code, title: message, status: statusOf(error), remedy, detail, hint });
  }
  return document({ code: 'INTERNAL', title: 'an internal error', status: 500 });
}

/**
 * What stops a flow stands in the way of a command, too: it is refused as things are, and nothing was changed. What is wrong with
 * the request is 400; what is wrong with the service or its brokers, and not with what was asked, is 500.
 */
const statusOfRemedy: Readonly<Record<Remedy, number>> = {
  'fix-input': 500,
  retry: 503,
  rejoin: 503,
  'rebuild-state': 503,
  stop: 409,
};

const statusOfError: Readonly<Partial<Record<ErrorCode, number>>> = {
  USAGE: 400,
  TOPIC_MISSING: 404,
  GROUP_BUSY: 409,
  RECORD_CORRUPT: 500,
  NOT_SUPPORTED: 501,
};

function statusOf({ code, remedy }: FlowError): number {
  return statusOfError[code] ?? statusOfRemedy[remedy];
}

function document(parts: {
  readonly code: string;
  readonly title: string;
  readonly status: number;
  readonly remedy?: string;
  readonly detail?: string | undefined;
  readonly hint?: string | undefined;
}): ProblemDocument {
  const { code, title, status, remedy, detail, hint } = parts;
  return {
    type: `urn:tidemark:error:${code}`,
    title,
    status,
    code,
    ...(remedy === undefined ? {} : { remedy }),
    ...(detail === undefined ? {} : { detail }),
    ...(hint === undefined ? {} : { hint }),
  };
}
