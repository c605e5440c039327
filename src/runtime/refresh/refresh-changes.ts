import { compareSpans } from '../../data/bytes.ts';
import {
  Change,
  compareChanges,
  decodeChanges,
  encodeChanges,
  withChange,
} from '../../data/change.ts';
import { readProvenance } from '../../data/provenance.ts';
import { truncateKey } from '../../data/row-envelope.ts';
import type { Slice } from '../../ports/log.ts';
import { rowLoss } from '../../refresh/loss.ts';
import type { SourceBounds } from '../../refresh/retention.ts';
import type { ChangeMerge } from '../../task/change-merge.ts';
import { unknownEntry } from '../../task/key/key-state.ts';
import { ChangeRestore, joinLevel } from '../../task/restore/restore-changes.ts';
import { provenanceOf } from '../takeover/record-losses.ts';

/** How the changes of an AUTO CDC table are merged, and what the former definition did not have. */
export type ChangeForm = {
  readonly merge: ChangeMerge;
  /** Names of the history's columns. */
  readonly historyNames: readonly string[];
  /**
   * Columns that are new and of which a NULL counts. A change from before says nothing of them; read again it would
   * give NULL, so that no older change fills them.
   */
  readonly newColumns: readonly string[];
};

/** The changes of some keys of one partition of one generation, from its output and its levels. */
export class ChangeFold {
  readonly #entries = new Map<string, Buffer | undefined>();
  readonly #keys: ReadonlySet<string>;
  readonly #merge: ChangeMerge;
  readonly #restore: ChangeRestore;

  constructor(
    keys: ReadonlySet<string>,
    merge: ChangeMerge,
    parseSequence: (text: string) => Buffer,
  ) {
    this.#keys = keys;
    this.#merge = merge;
    this.#restore = new ChangeRestore(parseSequence);
  }

  takeOutput(slice: Slice): void {
    for (const { key, entry } of this.#restore.load(slice)) {
      if (this.#keys.has(key)) this.#entries.set(key, entry);
    }
  }

  /** After the output. */
  takeLevels(slice: Slice): void {
    for (const { key, entry } of this.#restore.load(slice)) {
      if (!this.#keys.has(key)) continue;
      // The last truncate has no record elsewhere: what stands in the levels is all there is.
      const known = key === truncateKey ? undefined : this.#entries.get(key);
      if (entry !== undefined || key === truncateKey) {
        this.#entries.set(key, joinLevel(this.#merge, known, entry));
      }
    }
  }

  changes(key: string): readonly Change[] {
    const entry = this.#entries.get(key);
    if (entry === undefined) return [];
    const changes = decodeChanges(entry);
    if (changes === undefined) throw unknownEntry();
    return changes;
  }
}

export type ChangeSets = {
  readonly live: ChangeFold;
  /** undefined: nothing takes the place of what is there. */
  readonly fresh: ChangeFold | undefined;
};

/** Of what was there, and what can't be read again of it. */
export type ChangeVerdict = {
  /** Rows that nothing brings back as they are, and whether more than rows is lost. */
  readonly lostRows: number;
  readonly isHiddenLost: boolean;
  /** What counts of the key where that is kept; undefined: what was computed anew stands as it is. */
  readonly kept: readonly Change[] | undefined;
  /** What counted before. */
  readonly before: readonly Change[];
};

/**
 * What becomes of keys of an AUTO CDC table of which changes can't be read again. Invariant: what is kept is the merge of
 * these changes with all that were read anew, which is what the table would be had none of them expired: leaving out
 * changes that do not count never changes what later ones make of the rest.
 */
export class ChangeSettling {
  readonly #form: ChangeForm;
  readonly #bounds: SourceBounds;
  readonly #keeps: boolean;

  constructor(form: ChangeForm, bounds: SourceBounds, keeps: boolean) {
    this.#form = form;
    this.#bounds = bounds;
    this.#keeps = keeps;
  }

  /** The last truncate that can't be read again, where it is higher than all that can; undefined: there is none. */
  lostFloor({ live, fresh }: ChangeSets): Change | undefined {
    const [floor] = this.#unreadable(live.changes(truncateKey));
    const [now] = fresh?.changes(truncateKey) ?? [];
    if (floor === undefined) return undefined;
    return now !== undefined && compareSpans(floor.sequence, now.sequence) <= 0 ? undefined : floor;
  }

  settle(key: string, { live, fresh }: ChangeSets): ChangeVerdict {
    const { merge } = this.#form;
    const before = live.changes(key);
    const after = fresh?.changes(key) ?? [];
    const known = new Set(after.map(nameOf));
    // An equal change that can be read stands for one that can't.
    const unreadable = this.#unreadable(before).filter(
      (change) => !after.some((one) => compareChanges(one, change) === 0),
    );
    const lostFloor = this.#keeps ? this.lostFloor({ live, fresh }) : undefined;
    const floor = (lostFloor ?? fresh?.changes(truncateKey)[0])?.sequence;
    const completed = unreadable.map((change) => this.#completed(change));
    const joined = merge.keep(after.reduce(withChange, completed), floor);
    const lost = new Set(unreadable.map(nameOf).filter((name) => !known.has(name)));
    const missing = new Set(joined.map(nameOf).filter((name) => lost.has(name)));
    const rows = merge
      .rows(before)
      .map(({ changes }) => changes.map(nameOf).filter((name) => missing.has(name)));
    const shown = new Set(rows.flat());
    return {
      lostRows: rows.filter((names) => names.length > 0).length,
      isHiddenLost: shown.size < missing.size,
      kept: this.#keeps && !isSame(joined, after) ? joined : undefined,
      before,
    };
  }

  #unreadable(changes: readonly Change[]): readonly Change[] {
    return changes.filter(
      (change) => rowLoss(this.#bounds, [readProvenance(provenanceOf(change), 0)]) !== undefined,
    );
  }

  #completed(change: Change): Change {
    const { newColumns } = this.#form;
    if (change.isDelete) return change;
    const missing = newColumns.filter((name) => !change.members.has(name));
    if (missing.length === 0) return change;
    const { sequence, provenance } = change;
    const given = change.members;
    // In the order of the columns, as it would be read: of equal sequences the bytes decide.
    const members = this.#form.merge.names.flatMap((name) => {
      const value = given.get(name);
      if (value === undefined && !missing.includes(name)) return [];
      const text =
        value === undefined ? 'null' : value.bytes.toString('utf8', value.start, value.end);
      return `${JSON.stringify(name)}:${text}`;
    });
    const bytes = Buffer.from(`{${members.join(',')}}`);
    return new Change(sequence, false, provenance, { bytes, start: 0, end: bytes.length });
  }
}

function nameOf(change: Change): string {
  return provenanceOf(change).toString('latin1');
}

/** Whether two lists of changes say the same. */
export function isSame(left: readonly Change[], right: readonly Change[]): boolean {
  return left.length === right.length && encodeChanges(left).equals(encodeChanges(right));
}
