import { oncePer } from '../../base/once-per.ts';
import type { ByteWriter } from '../../data/byte-writer.ts';
import { type JsonEncoder, jsonEncoder, jsonText, type Zeros } from '../../data/json-encode.ts';
import { notPlain, plain, plainMillis, plainTest } from '../../data/plain-json.ts';
import { sameType } from '../../data/type-text.ts';
import type { Column } from '../../data/types.ts';
import type { Row, Value } from '../../data/value.ts';
import type { BranchPlan, RowStep, SourcePlan } from '../../plan/pipeline-plan.ts';
import { hiddenColumns } from '../../plan/pipeline-plan.ts';
import type { SourceReader } from './source-reader.ts';

/**
 * Which source column each target column is taken from unchanged, by position; -1 where it is computed.
 * Only where nothing but filters and expectations stands before the last projection.
 */
export function passedThrough(
  plan: BranchPlan,
  source: SourcePlan,
  columns: readonly Column[],
): readonly number[] {
  const nothing = columns.map(() => -1);
  const last = plan.steps.at(-1);
  if (last?.step !== 'project' || source.format !== 'json') return nothing;
  const isPlain = ({ step }: RowStep): boolean =>
    step === 'filter' || step === 'expect' || step === 'watermark';
  if (!plan.steps.slice(0, -1).every(isPlain)) return nothing;
  const declared = source.columns.length - hiddenColumns.length;
  return last.columns.map(({ value }, position) => {
    const type = columns[position]?.type;
    const isPassed =
      value.node === 'column' &&
      value.index < declared &&
      type !== undefined &&
      sameType(value.type, type) &&
      plainTest(type) !== undefined;
    return isPassed ? value.index : -1;
  });
}

/** What a writer writes: some columns of the target, in order. */
export type WrittenColumns = {
  readonly columns: readonly Column[];
  /** Where each stands in the row. */
  readonly positions: readonly number[];
  /** Which source column each is taken from unchanged; -1: it is computed. */
  readonly passed: readonly number[];
  readonly zeros: Zeros;
};

/**
 * Writes columns of a row as one JSON object (the row itself, or its key): a value that only passes through is copied
 * from the record as it lies, where its bytes are canonical, and otherwise decoded and written. Neighbours that lie in
 * the record as they have to in the result are one copy, names and all. Invariant: the bytes are those that
 * `rowEncoder` gives for the decoded values; a test runs both on the same records.
 */
export class SplicedRowWriter {
  readonly #reader: SourceReader;
  readonly #members: readonly Member[];
  /** Those that pass through, by where the reader has found them. */
  readonly #passed: readonly { readonly source: number; readonly found: number }[];
  /** For records of `#layout`. */
  #runs: readonly Run[] = [];
  #layout = 0;

  constructor(reader: SourceReader, columns: WrittenColumns) {
    this.#reader = reader;
    this.#members = outsidesOf(columns).map((outside) => {
      const { source, name } = outside;
      return {
        ...outside,
        found: source < 0 ? -1 : reader.foundAt(source),
        isSameName: source >= 0 && name === `"${reader.nameOf(source)}"`,
      };
    });
    this.#passed = this.#members.filter(({ source }) => source >= 0);
  }

  /** Throws as `write` does, for a row that is not written. */
  check(): void {
    const { plainness } = this.#reader.found;
    for (const { source, found } of this.#passed) {
      if (plainness[found] === notPlain) this.#reader.decodeLocated(source);
    }
  }

  /** Throws ExpressionError where a value that was not looked at before does not fit its column. */
  write(row: Row, out: ByteWriter): void {
    const { found } = this.#reader;
    if (found.wholeLayout === 0) {
      this.#writeMembers(row, out);
      return;
    }
    if (found.wholeLayout !== this.#layout) {
      this.#layout = found.wholeLayout;
      this.#runs = this.#plan();
    }
    const { bytes, view, spans, plainness } = found;
    const runs = this.#runs;
    for (let index = 0; index < runs.length; index += 1) {
      const { prefix, computed, first, before, last, after, instants } = runs[index] as Run;
      if (prefix !== undefined) out.bytes(prefix);
      if (computed !== undefined) {
        computed.encode(this.#valueOf(computed, row), out);
        continue;
      }
      let from = (spans[first * 2] as number) - before;
      for (let at = 0; at < instants.length; at += 1) {
        const instant = instants[at] as number;
        if (plainness[instant] !== plainMillis) continue;
        const end = spans[instant * 2 + 1] as number;
        out.span(bytes, view, from, end - 1);
        out.bytes(microsTail);
        from = end + 1;
      }
      const to = (spans[last * 2 + 1] as number) + after;
      if (to > from) out.span(bytes, view, from, to);
    }
    out.byte(closeBrace);
  }

  /** How records of the layout are copied that have it to the full. */
  #plan(): readonly Run[] {
    const { found: record } = this.#reader;
    const runs: Run[] = [];
    let slotBefore = -1;
    for (const member of this.#members) {
      const { prefix, found, isSameName, quotes } = member;
      const slot = found < 0 ? -1 : record.slotOf(found);
      const isInPlace = slot >= 0 && isSameName && record.isTight(slot);
      const run = runs.at(-1);
      if (run !== undefined && isInPlace && slotBefore >= 0 && slot === slotBefore + 1) {
        run.last = found;
        run.after = quotes;
        if (member.isInstant) run.instants.push(found);
      } else {
        // With the comma or the brace before it, where that is the right one.
        const hasLead = isInPlace && (slot === 0) === (prefix[0] === openBrace);
        const written = isInPlace ? (hasLead ? 0 : 1) : prefix.length;
        runs.push({
          prefix: written === 0 ? undefined : prefix.subarray(0, written),
          computed: slot < 0 ? member : undefined,
          first: found,
          before: quotes + prefix.length - written,
          last: found,
          after: quotes,
          instants: member.isInstant ? [found] : [],
        });
      }
      slotBefore = slot;
    }
    return runs;
  }

  #valueOf({ found, position, source }: Member, row: Row): Value {
    return found < 0 ? (row[position] ?? null) : this.#reader.decodeLocated(source);
  }

  #writeMembers(row: Row, out: ByteWriter): void {
    const members = this.#members;
    const { bytes, view, spans, plainness, isNamed } = this.#reader.found;
    // The part of the record, [from, to), that is still to be copied.
    let from = 0;
    let to = 0;
    for (let index = 0; index < members.length; index += 1) {
      const member = members[index] as Member;
      const { prefix, found } = member;
      const how = found < 0 ? notPlain : (plainness[found] as number);
      if (how === notPlain) {
        if (to > from) out.span(bytes, view, from, to);
        from = 0;
        to = 0;
        out.bytes(prefix);
        member.encode(this.#valueOf(member, row), out);
        continue;
      }
      const first = (spans[found * 2] as number) - member.quotes;
      const nameStart = first - prefix.length;
      const hasPrefix = member.isSameName && isNamed[found] === 1 && bytes[nameStart] === prefix[0];
      if (!hasPrefix || nameStart !== to || to === from) {
        if (to > from) out.span(bytes, view, from, to);
        if (!hasPrefix) out.bytes(prefix);
        from = hasPrefix ? nameStart : first;
      }
      to = (spans[found * 2 + 1] as number) + member.quotes;
      if (how === plain) continue;
      // All but the Z and the quote, for which there is more.
      out.span(bytes, view, from, to - 2);
      out.bytes(microsTail);
      from = 0;
      to = 0;
    }
    if (to > from) out.span(bytes, view, from, to);
    out.byte(closeBrace);
  }
}

/** What of a member follows from its column alone. */
type Outside = {
  /** As JSON. */
  readonly name: string;
  readonly prefix: Buffer;
  readonly encode: JsonEncoder;
  readonly position: number;
  readonly source: number;
  /** 1 where the value stands in quotes, which its span is without. */
  readonly quotes: number;
  readonly isInstant: boolean;
};

type Member = Outside & {
  /** By which the reader tells of it; -1: it is computed. */
  readonly found: number;
  /** Whether its name in the record is the one that it has in the row. */
  readonly isSameName: boolean;
};

const outsidesOf = oncePer(
  ({ columns, positions, passed, zeros }: WrittenColumns): readonly Outside[] =>
    columns.map(({ name, type }, index) => {
      const text = jsonText({ kind: 'string' }, name);
      return {
        name: text,
        prefix: Buffer.from(`${index === 0 ? '{' : ','}${text}:`, 'utf8'),
        encode: jsonEncoder(type, zeros),
        position: positions[index] as number,
        source: passed[index] ?? -1,
        quotes: type.kind === 'string' || type.kind === 'timestamp' ? 1 : 0,
        isInstant: type.kind === 'timestamp',
      };
    }),
);

/** What is one copy, from the first member's value (and so many bytes before it) to the last one's. */
type Run = {
  /** Written first. */
  readonly prefix: Buffer | undefined;
  /** Instead of the copy. */
  readonly computed: Member | undefined;
  readonly first: number;
  readonly before: number;
  last: number;
  after: number;
  /** Those that may lack three digits. */
  readonly instants: number[];
};

const openBrace = 0x7b;

const closeBrace = 0x7d;
/** What a millisecond text lacks of the canonical one, from its Z on. */
const microsTail = Buffer.from('000Z"', 'latin1');
