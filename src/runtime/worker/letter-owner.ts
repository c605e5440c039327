import type { DeadLetter } from '../../task/output/dead-letter.ts';
import type { KnownCatalog } from '../topics/catalog.ts';

/** The flow whose a letter at a place of the dead-letter topic is; undefined: it is of another pipeline. */
export type LetterOwner = (
  letter: DeadLetter,
  place: { readonly partition: number; readonly offset: number },
) => string | undefined;

/** The letters that a flow left under a name of which its checkpoint was carried away. */
type FormerLetters = {
  readonly flow: string;
  /** Of the dead-letter topic. */
  readonly topicId: string;
  /** By partition, where the topic ended then: what comes later is of a new flow of that name. */
  readonly ends: readonly number[];
};

/**
 * Tells whose the letters of a dead-letter topic are. Invariant: a letter has one owner in one pipeline, for several pipelines
 * may share the topic, and a flow keeps its letters when its checkpoint is carried to another name.
 */
export function letterOwner(catalog: KnownCatalog, pipeline: string, topicId: string): LetterOwner {
  const moves = catalog.all('letters').flatMap(({ name }) =>
    formerLetters(catalog, name)
      .filter((one) => one.topicId === topicId)
      .map(({ flow, ends }) => ({ flow, ends, owner: name })),
  );
  return (letter, { partition, offset }) => {
    if (letter.pipeline !== pipeline) return undefined;
    let owner = letter.flow;
    let nearest = Number.POSITIVE_INFINITY;
    for (const { flow, ends, owner: now } of moves) {
      const end = ends[partition] ?? 0;
      // A name may have been left more than once: the letter was there the first time after it was written.
      if (flow !== letter.flow || offset >= end || end >= nearest) continue;
      owner = now;
      nearest = end;
    }
    return owner;
  };
}

/** What the catalog is told when a checkpoint is carried: the letters go with it, those of names before among them. */
export function movedLetters(
  catalog: KnownCatalog,
  { before, after }: { readonly before: string; readonly after: string },
  topic: Omit<FormerLetters, 'flow'> | undefined,
) {
  const left = topic === undefined ? [] : [{ flow: before, ...topic }];
  const former = [...formerLetters(catalog, after), ...formerLetters(catalog, before), ...left];
  if (former.length === 0) return [];
  return [
    { kind: 'letters' as const, name: after, value: { former } },
    { kind: 'letters' as const, name: before, value: undefined },
  ];
}

function formerLetters(catalog: KnownCatalog, flow: string): readonly FormerLetters[] {
  const former = catalog.get('letters', flow)?.value['former'];
  return Array.isArray(former) ? (former as FormerLetters[]) : [];
}
