import { type ErrorCode, FlowError } from '../../base/errors.ts';

/** What a refusal of the server means, by the first word of its reply; everything else is STATE_UNAVAILABLE. */
const replies: Readonly<Record<string, { readonly code: ErrorCode; readonly hint: string }>> = {
  NOAUTH: unauthorized('Give the user and password of the state store.'),
  WRONGPASS: unauthorized('Check the user and password of the state store.'),
  NOPERM: unauthorized(
    'Allow the user +info, +hmget, +hget, +hset, +hdel, +hlen, +hscan, +unlink, +eval and +evalsha on ~tidemark:*.',
  ),
  WRONGTYPE: {
    code: 'CONFIG_INVALID',
    hint: 'A key that begins with "tidemark:" belongs to someone else; give the pipeline its own Redis database.',
  },
  BUSY: unavailable('A long script blocks the server; end it with SCRIPT KILL, or wait.'),
  LOADING: unavailable('The server is still loading its data.'),
  READONLY: unavailable('The server is a replica; a failover may be going on.'),
  MASTERDOWN: unavailable('The replica has lost its master.'),
  CLUSTERDOWN: unavailable('The cluster does not cover every slot.'),
  TRYAGAIN: unavailable('Slots are being moved between nodes.'),
  OOM: unavailable('The server is out of memory; raise maxmemory.'),
  MISCONF: unavailable('The server cannot write to its disk and refuses writes until it can.'),
  NOREPLICAS: unavailable('The server has fewer replicas than min-replicas-to-write asks for.'),
};

function unauthorized(hint: string): { code: ErrorCode; hint: string } {
  return { code: 'NOT_AUTHORIZED', hint };
}

function unavailable(hint: string): { code: ErrorCode; hint: string } {
  return { code: 'STATE_UNAVAILABLE', hint };
}

export type ServerName = {
  /** Host and port, never the URL. */
  readonly address: string;
  /** Words that no message may hold. */
  readonly secrets: readonly string[];
};

/**
 * An error of the client or the server as ours. Invariant: no user's password is in it, however the server
 * quotes it; so the foreign error, which carries the arguments of its command, never becomes the cause.
 */
export function redisError(error: unknown, server: ServerName): FlowError {
  if (error instanceof FlowError) {
    return error;
  }
  const text = redacted(textOf(error), server.secrets);
  const [word = ''] = text.split(' ', 1);
  const known = Object.hasOwn(replies, word) ? replies[word] : undefined;
  if (known?.code === 'NOT_AUTHORIZED' || /\binvalid (username-)?password\b/i.test(text)) {
    return new FlowError('NOT_AUTHORIZED', `redis at ${server.address} refuses the user`, {
      detail: text,
      hint: known?.hint ?? 'Check the user and password of the state store.',
    });
  }
  if (known !== undefined) {
    const verb = known.code === 'STATE_UNAVAILABLE' ? 'cannot serve now' : 'refuses the command';
    return new FlowError(known.code, `redis at ${server.address} ${verb}`, {
      detail: text,
      hint: known.hint,
    });
  }
  if (isReply(error)) {
    return new FlowError('STATE_UNAVAILABLE', `redis at ${server.address} answers with an error`, {
      detail: text,
    });
  }
  return new FlowError('STATE_UNAVAILABLE', `redis at ${server.address} is not reachable`, {
    detail: text,
    hint: 'Check that the server runs and that the address is right.',
  });
}

function isReply(error: unknown): boolean {
  return error instanceof Error && error.name === 'ReplyError';
}

export function isMissingScript(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('NOSCRIPT');
}

function textOf(error: unknown): string {
  if (!(error instanceof Error)) {
    return String(error);
  }
  // A cluster that cannot be reached says why only in the error of the last node that it tried.
  const last = 'lastNodeError' in error ? error.lastNodeError : undefined;
  if (last instanceof Error) {
    return textOf(last);
  }
  // An address with several families fails as an aggregate without a message of its own.
  if (error instanceof AggregateError) {
    return error.errors.map(textOf).join('; ');
  }
  return error.message;
}

function redacted(text: string, secrets: readonly string[]): string {
  return secrets.reduce((rest, secret) => rest.replaceAll(secret, '***'), text);
}
