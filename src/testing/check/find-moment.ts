/** One of the records that somebody may have seen. */
export type MomentRecord = {
  /** "topic/partition": whoever has seen a record of one has seen all that lie before it. */
  readonly lane: string;
  /** It was there before anybody looked: it has to be seen. */
  readonly isOld: boolean;
};

export type MomentOptions<Item extends MomentRecord> = {
  /** Those of a lane come in their order. */
  readonly records: readonly Item[];
  /** Whether a record can have been seen at all, by what is known of the result. */
  readonly isPossible: (record: Item) => boolean;
  /** Whether it must have been seen, by what is known of the result. */
  readonly isNeeded: (record: Item) => boolean;
  /** Whether this is what follows from exactly those records. */
  readonly isResult: (seen: readonly Item[]) => boolean;
};

/**
 * Looks for a moment at which a result was right: of each lane so many records from its start on, with all that are old,
 * from which the result follows. Returns these records; undefined: it was right at no moment.
 */
export function findMoment<Item extends MomentRecord>(
  options: MomentOptions<Item>,
): readonly Item[] | undefined {
  const lanes = [...groupedBy(options.records, ({ lane }) => lane).values()];
  return search(options, lanes, []);
}

function search<Item extends MomentRecord>(
  options: MomentOptions<Item>,
  lanes: readonly (readonly Item[])[],
  seen: readonly Item[],
): readonly Item[] | undefined {
  const [lane, ...others] = lanes;
  if (lane === undefined) return options.isResult(seen) ? seen : undefined;
  const stop = lane.findIndex((record) => !options.isPossible(record));
  const most = stop < 0 ? lane.length : stop;
  const least = 1 + lane.findLastIndex((record) => record.isOld || options.isNeeded(record));
  for (let count = least; count <= most; count += 1) {
    const found = search(options, others, [...seen, ...lane.slice(0, count)]);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Items by what they have in common, in their order. */
export function groupedBy<Key, Item>(
  items: readonly Item[],
  keyOf: (item: Item) => Key,
): ReadonlyMap<Key, readonly Item[]> {
  const groups = new Map<Key, Item[]>();
  for (const item of items) {
    const key = keyOf(item);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [item]);
    else group.push(item);
  }
  return groups;
}
