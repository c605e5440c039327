import { topicIdHex } from '../../data/provenance.ts';
import type { Catalog, KnownCatalog } from '../topics/catalog.ts';

/** A record that somebody had a flow step over, with its bytes. */
export type SkippedRecord = {
  readonly flow: string;
  readonly topic: string;
  readonly topicId: string;
  readonly partition: number;
  readonly offset: number;
  readonly atMs: number;
  /** base64; null as in the record. */
  readonly key: string | null;
  readonly value: string | null;
};

/** Bytes of a record in one catalog record: base64 takes a third more, and brokers take a megabyte. */
const partBytes = 384 * 1024;

/** The offsets of one source partition that a flow steps over. A topic that was created anew has none. */
export function skippedOffsets(
  catalog: Catalog,
  place: Pick<SkippedRecord, 'flow' | 'topicId' | 'topic' | 'partition'>,
): ReadonlySet<number> | undefined {
  const offsets = skipsOf(catalog, place.flow).flatMap((skip) =>
    skip.topicId === place.topicId &&
    skip.topic === place.topic &&
    skip.partition === place.partition
      ? [skip.offset]
      : [],
  );
  return offsets.length === 0 ? undefined : new Set(offsets);
}

export function skipsOf(catalog: KnownCatalog, flow: string): readonly SkippedRecord[] {
  return catalog.all('skip').flatMap(({ name, value }) => {
    if (value['flow'] !== flow) return [];
    const parts = Number(value['parts'] ?? 1);
    const whole = Array.from({ length: parts - 1 }, (_, at) =>
      String(catalog.get('skip', `${name}#${at + 1}`)?.value['value'] ?? ''),
    );
    const first = value['value'];
    const bytes = typeof first === 'string' ? first + whole.join('') : null;
    return [{ ...(value as unknown as SkippedRecord), value: bytes }];
  });
}

/** Those among them that lie in the sources as they are now: of a topic that was created anew none is stepped over. */
export function skippedOf(
  catalog: KnownCatalog | undefined,
  flow: string,
  sources: readonly Pick<SkippedRecord, 'topic' | 'topicId'>[],
): readonly SkippedRecord[] {
  const known = catalog === undefined ? [] : skipsOf(catalog, flow);
  return known.filter(({ topic, topicId }) =>
    sources.some(
      (source) => source.topic === topic && topicIdHex(source.topicId) === topicIdHex(topicId),
    ),
  );
}

export async function recordSkip(
  catalog: Catalog,
  skip: Omit<SkippedRecord, 'key' | 'value'>,
  record: { readonly key: Buffer | null; readonly value: Buffer | null },
): Promise<void> {
  const { flow, topic, partition, offset, atMs } = skip;
  const name = `${flow}/${topic}/${partition}@${offset}`;
  const pieces = piecesOf(record.value);
  // The first piece names the skip: it is written last, so that a skip that is seen is whole.
  const entries = pieces.map((value, at) => ({
    kind: 'skip' as const,
    name: at === 0 ? name : `${name}#${at}`,
    value:
      at === 0
        ? { ...skip, key: record.key?.toString('base64') ?? null, value, parts: pieces.length }
        : { value },
  }));
  await catalog.write([...entries.slice(1), ...entries.slice(0, 1)], atMs);
}

function piecesOf(bytes: Buffer | null): readonly (string | null)[] {
  if (bytes === null) return [null];
  const pieces: string[] = [];
  for (let at = 0; at === 0 || at < bytes.length; at += partBytes) {
    pieces.push(bytes.toString('base64', at, Math.min(at + partBytes, bytes.length)));
  }
  return pieces;
}
