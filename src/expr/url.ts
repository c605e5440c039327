/** The parts of a URL by the names that parse_url has for them, as written; undefined when it is none. */
export type UrlParts = {
  readonly PROTOCOL: string | undefined;
  readonly AUTHORITY: string | undefined;
  readonly USERINFO: string | undefined;
  readonly HOST: string | undefined;
  readonly PATH: string | undefined;
  readonly QUERY: string | undefined;
  readonly REF: string | undefined;
  readonly FILE: string | undefined;
};

const nothing: Omit<UrlParts, 'PROTOCOL' | 'REF'> = {
  AUTHORITY: undefined,
  USERINFO: undefined,
  HOST: undefined,
  PATH: undefined,
  QUERY: undefined,
  FILE: undefined,
};

export function parseUrl(text: string): UrlParts | undefined {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what a URL must not have
  if (/[\u0000-\u0020"<>\\^`{|}\u007f]|%(?![0-9a-fA-F]{2})/.test(text)) return undefined;
  const match =
    /^(?:([a-zA-Z][a-zA-Z0-9+.-]*):)?(?:\/\/([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#(.*))?$/.exec(
      text,
    );
  if (match === null) return undefined;
  const [, protocol, authority, path = '', query, ref] = match;
  // Behind a scheme without a slash there are no parts: `mailto:a@b.c`.
  const isOpaque = protocol !== undefined && authority === undefined && !path.startsWith('/');
  if (isOpaque) return { ...nothing, PROTOCOL: protocol, REF: ref };
  const at = authority === undefined ? -1 : authority.lastIndexOf('@');
  const hostPort = authority?.slice(at + 1);
  return {
    PROTOCOL: protocol,
    AUTHORITY: authority === '' ? undefined : authority,
    USERINFO: at < 0 ? undefined : authority?.slice(0, at),
    HOST: hostOf(hostPort),
    PATH: path,
    QUERY: query,
    REF: ref,
    FILE: query === undefined ? path : `${path}?${query}`,
  };
}

function hostOf(hostPort: string | undefined): string | undefined {
  const match = /^(\[[^\]]*\]|[^:]*)(?::\d*)?$/.exec(hostPort ?? '');
  const host = match?.[1];
  return host === '' ? undefined : host;
}
