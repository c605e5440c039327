/** What a file is to whoever reads it like a topic. No topic of a broker has such a name: it has a colon. */
const prefix = 'file:';

export function fileTopic(path: string, format: string): string {
  return `${prefix}${format}:${path}`;
}

/** The path of a file that stands as a topic; undefined: it is a topic of the log. */
export function filePathOf(topic: string): string | undefined {
  return fileOf(topic)?.path;
}

export function fileOf(
  topic: string,
): { readonly path: string; readonly format: string } | undefined {
  if (!topic.startsWith(prefix)) return undefined;
  const colon = topic.indexOf(':', prefix.length);
  return { format: topic.slice(prefix.length, colon), path: topic.slice(colon + 1) };
}
