import type { TablePlan } from '../../plan/pipeline-plan.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Log } from '../../ports/log.ts';
import type { Catalog } from '../topics/catalog.ts';
import { readAppendedRows } from '../views/read-appended-rows.ts';
import { halves, isInShare, type KeyShare, shareBitsMax, wholeShare } from '../worker/key-share.ts';
import type { FlowFacts } from './flow-facts.ts';
import type { CommittedRow } from './read-table.ts';
import { SourceRows } from './source-rows.ts';
import {
  bytesOf,
  type KeyDifference,
  newReport,
  placeText,
  readSpans,
  refuseUnverifiable,
  sourceKey,
  type VerifyReport,
} from './verify-parts.ts';
import { type KeyReadability, type VerifiedSpan, VerifyReadability } from './verify-readability.ts';

export type VerifyAppendedOptions = {
  readonly log: Log;
  readonly catalog: Catalog;
  readonly clock: Clock;
  readonly pipeline: string;
  readonly table: TablePlan;
  /** Of each flow that appends to the table. */
  readonly flows: readonly FlowFacts[];
  readonly onDifference: (difference: KeyDifference) => void;
  /** Bytes of recomputed rows that may be held at once. */
  readonly heldBytesMax?: number;
};

type ReadFlow = {
  readonly facts: FlowFacts;
  readonly spans: readonly VerifiedSpan[];
  readonly readability: VerifyReadability;
};

const heldBytesDefault = 256 * 1024 * 1024;
const heldOverheadBytes = 200;
/** Differences that are held to be shown. */
const shownMax = 1_000;
const bestFirst: readonly KeyReadability[] = ['moved', 'readable', 'unknown', 'unreadable'];

/**
 * Computes the rows of a table that append flows write anew from its sources, up to their checkpoints, and compares them
 * with the output topic, record of a source by record. Invariant: nothing is written, and no more than a bound of rows is
 * held; rows whose records are gone from their source, or were read meanwhile, are left out.
 */
export async function verifyAppended(options: VerifyAppendedOptions): Promise<VerifyReport> {
  const flows: ReadFlow[] = [];
  for (const facts of options.flows) {
    refuseUnverifiable(facts.flow, options.table.name);
    const spans = await readSpans(options, facts);
    flows.push({ facts, spans, readability: new VerifyReadability(facts, spans) });
  }
  const report = newReport();
  const shares: KeyShare[] = [wholeShare];
  for (let isFirst = true; ; isFirst = false) {
    const first = shares.shift();
    if (first === undefined) break;
    const part = new Part(options, first, shares);
    await part.recompute(flows);
    if (isFirst) report.badRecords = part.badRecords;
    await part.compare(flows, report);
  }
  const partTables = flows.flatMap(({ readability }) => readability.partTables);
  return report.unknownKeys === 0 ? report : { ...report, partTables: [...new Set(partTables)] };
}

/** What the records of one share of the places give. */
class Part {
  badRecords = 0;
  readonly #options: VerifyAppendedOptions;
  readonly #later: KeyShare[];
  #share: KeyShare;
  #heldBytes = 0;
  /** Provenance → its rows, which several flows may have made of one record. */
  readonly #expected = new Map<string, string[]>();

  constructor(options: VerifyAppendedOptions, share: KeyShare, later: KeyShare[]) {
    this.#options = options;
    this.#share = share;
    this.#later = later;
  }

  async recompute(flows: readonly ReadFlow[]): Promise<void> {
    for (const { facts, spans } of flows) {
      await this.#read(facts, spans, (source, json) => {
        const rows = this.#expected.get(source) ?? [];
        rows.push(json);
        this.#expected.set(source, rows);
        this.#heldBytes += source.length + json.length + heldOverheadBytes;
        this.#divide();
      });
    }
  }

  async #read(
    facts: FlowFacts,
    spans: readonly VerifiedSpan[],
    take: (source: string, json: string) => void,
  ): Promise<void> {
    const { log, catalog, clock } = this.#options;
    const rows = new SourceRows({
      log,
      catalog,
      facts,
      nowMs: clock.now(),
      onRow: ({ provenance, json, violated, bad }) => {
        if (bad !== undefined) this.badRecords += 1;
        if (bad !== undefined || violated.some(({ action }) => action !== 'warn')) return;
        const source = sourceKey(provenance);
        if (isInShare(source, this.#share)) take(source, json);
      },
      onBad: () => {
        this.badRecords += 1;
      },
    });
    for (const span of spans) await rows.read(span);
  }

  #divide(): void {
    const { heldBytesMax = heldBytesDefault } = this.#options;
    while (this.#heldBytes > heldBytesMax && this.#share.bits < shareBitsMax) {
      const [kept, later] = halves(this.#share);
      this.#share = kept;
      this.#later.unshift(later);
      for (const [source, rows] of this.#expected) {
        if (isInShare(source, kept)) continue;
        this.#expected.delete(source);
        for (const json of rows) this.#heldBytes -= source.length + json.length + heldOverheadBytes;
      }
    }
  }

  async compare(flows: readonly ReadFlow[], report: VerifyReport): Promise<void> {
    const { log, pipeline, table, onDifference } = this.#options;
    /** Differences, until it is known that the flows stood still meanwhile. */
    const shown: KeyDifference[] = [];
    let differences = 0;
    /** Those of them that are about a row of the table. */
    let differing = 0;
    const differ = (difference: KeyDifference): void => {
      differences += 1;
      if (shown.length < shownMax) shown.push(difference);
    };
    for await (const { rows } of readAppendedRows({ log, table })) {
      for (const row of rows) {
        const source = sourceOf(row);
        if (!isInShare(source, this.#share)) continue;
        const isGiven = this.#takeOne(source, row.json);
        const state = isGiven ? 'readable' : readabilityOf(flows, row);
        if (state === 'moved') {
          report.movedKeys += 1;
          continue;
        }
        report.keys += 1;
        report.rows += 1;
        if (state === 'unknown') report.unknownKeys += 1;
        else if (state === 'unreadable') report.unreadableKeys += 1;
        else if (!isGiven) {
          differing += 1;
          differ(this.#surplus(source, row));
        }
      }
    }
    for (const [source, rows] of this.#expected) {
      for (const expected of rows) {
        differ({ key: this.#placeText(source), kind: 'missing', expected, found: 'no row' });
      }
    }
    if (differences > 0 && (await haveMoved({ log, pipeline }, flows))) {
      report.movedKeys += differences;
      report.keys -= differing;
      report.rows -= differing;
      return;
    }
    report.differences += differences;
    for (const one of shown) onDifference(one);
  }

  /** A row that the sources do not give, or that stands where they give another one. */
  #surplus(source: string, { json: found }: CommittedRow): KeyDifference {
    const key = this.#placeText(source);
    const [expected] = this.#expected.get(source) ?? [];
    if (expected === undefined) return { key, kind: 'extra', expected: 'no row', found };
    this.#takeOne(source, expected);
    return { key, kind: 'rows', expected, found };
  }

  #placeText(source: string): string {
    const sources = this.#options.flows.flatMap((facts) => facts.sources);
    return placeText(Buffer.from(source, 'latin1'), sources);
  }

  #takeOne(source: string, json: string): boolean {
    const rows = this.#expected.get(source);
    const at = rows?.indexOf(json) ?? -1;
    if (rows === undefined || at < 0) return false;
    rows.splice(at, 1);
    if (rows.length === 0) this.#expected.delete(source);
    return true;
  }
}

/** Of several flows one that can tell speaks for all: of the others it is no row. */
function readabilityOf(flows: readonly ReadFlow[], row: CommittedRow): KeyReadability {
  const set = { partition: 0, key: '', sequence: '', rows: [row] };
  const states = new Set(flows.map(({ readability }) => readability.of(set)));
  return bestFirst.find((state) => states.has(state)) ?? 'unreadable';
}

/** Whether a flow has gone on since its sources were read: a table that it reads may have given it rows that do not say so. */
async function haveMoved(
  options: Pick<VerifyAppendedOptions, 'log' | 'pipeline'>,
  flows: readonly ReadFlow[],
): Promise<boolean> {
  for (const { facts, spans } of flows) {
    const now = await readSpans(options, facts);
    if (now.some(({ to }, at) => to !== spans[at]?.to)) return true;
  }
  return false;
}

function sourceOf({ sources }: CommittedRow): string {
  const [first] = sources;
  return first === undefined ? '' : sourceKey(bytesOf(first));
}
