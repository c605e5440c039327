import type { KafkaCluster } from '../../src/adapters/kafka/cluster.ts';
import type { CommittedRecord } from '../../src/adapters/memory/memory-log.ts';
import type { OutputMode, PipelinePlan } from '../../src/plan/pipeline-plan.ts';
import type { Log, LogReader } from '../../src/ports/log.ts';
import { type RecordedGap, recordedGaps } from '../../src/runtime/takeover/gaps.ts';
import { Catalog } from '../../src/runtime/topics/catalog.ts';
import { emptyFlowCounters, type FlowCounters } from '../../src/task/row-account.ts';
import { checkAccount } from '../../src/testing/check/check-account.ts';
import { MonotoneCheck } from '../../src/testing/check/check-monotone.ts';
import { readAccount } from '../../src/testing/check/read-account.ts';
import { type ReferenceRow, reference } from '../../src/testing/check/reference.ts';
import {
  checkCheckpoints,
  checkEveryRecord,
  checkFinal,
  partitionsOf,
  recordAt,
  rowOf,
} from './check-output.ts';
import { TransactionScan, transactionCluster } from './read-transactions.ts';

export type JudgedTable = {
  readonly flow: string;
  readonly target: string;
  readonly output: Exclude<OutputMode, 'append'>;
};

export type JudgeOptions = {
  readonly brokers: string;
  readonly log: Log;
  readonly source: string;
  readonly pipeline: string;
  readonly plan: PipelinePlan;
  readonly tables: readonly JudgedTable[];
};

export type TableVerdict = {
  readonly target: string;
  readonly sourceRecords: number;
  /** Of these, records that a gap took which somebody accepted. */
  readonly lostRecords: number;
  readonly keys: number;
  readonly rows: number;
  readonly outputRecords: number;
  readonly transactions: { readonly committed: number; readonly aborted: number };
  /** None: output, checkpoints and account are what the source says. */
  readonly differences: readonly string[];
};

/** How long a look may wait for brokers before it is given up. */
const lookMsMax = 30_000;

type SourceEntry = {
  readonly partition: number;
  readonly offset: number;
  /** undefined: a tombstone. */
  readonly row: ReferenceRow<number> | undefined;
};

/**
 * Follows the logs of a pipeline while it runs, and knows what should be in them. Invariant: what it has seen of the
 * source it keeps, so that records may be deleted below `reached`; everything that a reader of the outputs could have
 * seen was looked at.
 */
export class ChaosJudge {
  readonly #options: JudgeOptions;
  readonly #cluster: KafkaCluster;
  readonly #source: TopicTail;
  readonly #topicId: string;
  readonly #entries: SourceEntry[] = [];
  readonly #bySource = new Map<string, ReferenceRow<number>>();
  readonly #tables: readonly WatchedTable[];
  #looking: Promise<readonly string[]> = Promise.resolve([]);

  private constructor(options: JudgeOptions, cluster: KafkaCluster, topicId: string) {
    this.#options = options;
    this.#cluster = cluster;
    this.#topicId = topicId;
    this.#source = new TopicTail(options.log, options.source);
    this.#tables = options.tables.map(
      (table) => new WatchedTable(table, options.log, cluster, this.#bySource),
    );
  }

  /** The topics are there already. */
  static async open(options: JudgeOptions): Promise<ChaosJudge> {
    const { log, source, brokers } = options;
    const description = (await log.describeTopics([source])).get(source);
    if (description === undefined) throw new Error(`topic "${source}" is missing`);
    const cluster = transactionCluster(brokers);
    await cluster.connect();
    return new ChaosJudge(options, cluster, description.topicId);
  }

  /** Offset up to which a source partition was read. */
  reached(partition: number): number {
    return this.#source.position(partition);
  }

  /** Reads on to the ends that stand now, and returns what no reader should ever have seen. Fails while brokers do. */
  look(): Promise<readonly string[]> {
    const before = this.#looking.catch(() => undefined);
    this.#looking = before.then(() => this.#look());
    return this.#looking;
  }

  async #look(): Promise<readonly string[]> {
    const faults: string[] = [];
    // The outputs first, up to an end of now: what they hold has its source before it.
    for (const table of this.#tables) await table.readOn();
    await this.#readSource();
    for (const table of this.#tables) faults.push(...table.judge());
    return faults;
  }

  async #readSource(): Promise<void> {
    await this.#source.readOn((record) => {
      const { partition, offset } = record;
      const [row] = rowOf(record, this.#topicId);
      this.#entries.push({ partition, offset, row });
      if (row !== undefined) this.#bySource.set(row.provenance, row);
    });
  }

  /** Once everything is read: whether each table, its checkpoints and its account are right. */
  async verdict(): Promise<readonly TableVerdict[]> {
    const seen = await this.look();
    const gaps = await this.gaps();
    const verdicts: TableVerdict[] = [];
    for (const table of this.#tables) verdicts.push(await this.#verdictOf(table, gaps, seen));
    return verdicts;
  }

  async gaps(): Promise<readonly RecordedGap[]> {
    const { log, pipeline } = this.#options;
    const catalog = new Catalog(log, `${pipeline}.catalog`);
    try {
      await catalog.read();
      return recordedGaps(catalog);
    } finally {
      await catalog.close();
    }
  }

  /** The highest sequence of each region, for whoever asks for all of the state. */
  levels(): ReadonlyMap<string, number> {
    const levels = new Map<string, number>();
    for (const { key, sequence } of this.#bySource.values()) {
      levels.set(key, Math.max(sequence, levels.get(key) ?? sequence));
    }
    return levels;
  }

  async #verdictOf(
    watched: WatchedTable,
    gaps: readonly RecordedGap[],
    seen: readonly string[],
  ): Promise<TableVerdict> {
    const { log, plan, pipeline, source } = this.#options;
    const { flow, target } = watched.table;
    const own = gaps.filter((gap) => gap.flow === flow && gap.topic === source);
    const isLost = ({ partition, offset }: SourceEntry): boolean =>
      own.some(
        (gap) => gap.partition === partition && offset >= (gap.from ?? 0) && offset < gap.to,
      );
    const kept = this.#entries.filter((entry) => !isLost(entry));
    const rows = kept.flatMap(({ row }) => (row === undefined ? [] : [row]));
    const expected = reference(rows, (a, b) => a - b);
    const planned = plan.flows.find(({ name }) => name === flow);
    if (planned === undefined) throw new Error(`the plan has no flow "${flow}"`);
    const account = await readAccount(log, plan, pipeline, planned);
    const counters = expectedCounters(kept.length, rows.length);
    const open = gaps.filter((gap) => gap.flow === flow && gap.acceptedAtMs === undefined);
    const verdict = {
      target,
      sourceRecords: this.#entries.length,
      lostRecords: this.#entries.length - kept.length,
      keys: expected.size,
      rows:
        rows.length === 0 ? 0 : [...expected.values()].reduce((sum, set) => sum + set.rows.size, 0),
      outputRecords: watched.outputRecords,
      transactions: watched.transactions,
    };
    const differences = [
      ...seen,
      ...open.map(({ id }) => `nobody accepted gap ${id}`),
      ...checkFinal(watched.fold, expected),
      ...(await checkCheckpoints(log, { source, pipeline, flow })),
      ...checkAccount({
        flow,
        account,
        expected: counters,
        handedOn: counters.handedOn,
        mayRepeat: false,
        isExact: true,
      }),
      ...emptiness(verdict),
    ];
    return { ...verdict, differences };
  }

  async close(): Promise<void> {
    this.#cluster.close();
    await this.#source.close();
    for (const table of this.#tables) await table.close();
  }
}

/** What judges nothing must not look like what found nothing. */
function emptiness(verdict: Omit<TableVerdict, 'differences'>): string[] {
  const { sourceRecords, outputRecords, keys, rows, transactions } = verdict;
  const seen = { sourceRecords, outputRecords, keys, rows, transactions: transactions.committed };
  return Object.entries(seen).flatMap(([name, count]) =>
    count === 0 ? [`nothing was judged: ${name} is 0`] : [],
  );
}

function expectedCounters(records: number, rows: number): FlowCounters {
  return {
    ...emptyFlowCounters([]),
    records,
    decoded: rows,
    tombstones: records - rows,
    rows,
    handedOn: rows,
  };
}

/** A committed reader of a whole topic that goes on where it was, through outages. */
class TopicTail {
  readonly #log: Log;
  readonly #topic: string;
  readonly #positions = new Map<number, number>();
  #reader: LogReader | undefined;

  constructor(log: Log, topic: string) {
    this.#log = log;
    this.#topic = topic;
  }

  position(partition: number): number {
    return this.#positions.get(partition) ?? 0;
  }

  /** Up to the stable ends of now. What was taken stays taken, even where the rest fails. */
  async readOn(take: (record: CommittedRecord) => void): Promise<ReadonlyMap<number, number>> {
    const partitions = await partitionsOf(this.#log, this.#topic);
    const ranges = await this.#log.offsetRanges(this.#topic, partitions);
    const goals = new Map([...ranges].map(([partition, { stable }]) => [partition, stable]));
    this.#reader ??= this.#log.openReader();
    for (const [partition, { start }] of ranges) {
      if (this.#positions.has(partition)) continue;
      this.#positions.set(partition, start);
      this.#reader.assign(this.#topic, partition, start);
    }
    const deadline = Date.now() + lookMsMax;
    const isBehind = (): boolean =>
      [...goals].some(([partition, goal]) => this.position(partition) < goal);
    while (isBehind()) {
      if (Date.now() > deadline) throw new Error(`topic "${this.#topic}" cannot be read now`);
      for (const { partition, records, nextOffset } of await this.#reader.poll(500)) {
        while (records.next()) take(recordAt(records, partition));
        this.#positions.set(partition, nextOffset);
      }
    }
    return goals;
  }

  async close(): Promise<void> {
    await this.#reader?.close();
  }
}

/** One output topic as its readers see it, transaction by transaction. */
class WatchedTable {
  readonly table: JudgedTable;
  outputRecords = 0;
  readonly #tail: TopicTail;
  readonly #cluster: KafkaCluster;
  readonly #bySource: ReadonlyMap<string, ReferenceRow<number>>;
  readonly #check: MonotoneCheck<number>;
  readonly #partitions = new Map<number, WatchedPartition>();

  constructor(
    table: JudgedTable,
    log: Log,
    cluster: KafkaCluster,
    bySource: ReadonlyMap<string, ReferenceRow<number>>,
  ) {
    this.table = table;
    this.#cluster = cluster;
    this.#bySource = bySource;
    this.#tail = new TopicTail(log, table.target);
    this.#check = new MonotoneCheck(table.output, {
      sequenceOf: Number,
      compare: (a, b) => a - b,
    });
  }

  get fold(): MonotoneCheck<number>['fold'] {
    return this.#check.fold;
  }

  get transactions(): TableVerdict['transactions'] {
    let committed = 0;
    let aborted = 0;
    for (const { scan } of this.#partitions.values()) {
      committed += scan.counts.committed;
      aborted += scan.counts.aborted;
    }
    return { committed, aborted };
  }

  async readOn(): Promise<void> {
    const goals = await this.#tail.readOn((record) => {
      this.#partition(record.partition).waiting.push(record);
    });
    for (const [partition, stable] of goals) {
      const watched = this.#partition(partition);
      // Later than the reader, so that every record has its batch.
      await watched.scan.readOn();
      watched.stable = stable;
    }
  }

  #partition(partition: number): WatchedPartition {
    const known = this.#partitions.get(partition);
    if (known !== undefined) return known;
    const scan = new TransactionScan(this.#cluster, this.table.target, partition);
    const watched = { scan, waiting: [], batch: 0, stable: 0 };
    this.#partitions.set(partition, watched);
    return watched;
  }

  /** Judges every transaction that readers see whole by now. */
  judge(): string[] {
    const faults: string[] = [];
    for (const [partition, watched] of this.#partitions) {
      const { numbered, complaints } = settledRecords(watched);
      this.outputRecords += numbered.length;
      const found = [
        ...complaints,
        ...this.#check.add(numbered),
        ...checkEveryRecord(numbered, this.table.output, this.#bySource),
      ];
      faults.push(...found.map((fault) => `${this.table.target}/${partition}: ${fault}`));
    }
    return faults;
  }

  close(): Promise<void> {
    return this.#tail.close();
  }
}

type WatchedPartition = {
  readonly scan: TransactionScan;
  /** Read and not judged yet. */
  waiting: CommittedRecord[];
  /** The next batch to judge. */
  batch: number;
  stable: number;
};

/** Takes the records of whole transactions, and tells whether the reader showed what was committed and nothing else. */
function settledRecords(watched: WatchedPartition): {
  readonly numbered: readonly CommittedRecord[];
  readonly complaints: readonly string[];
} {
  const numbered: CommittedRecord[] = [];
  const complaints: string[] = [];
  let at = 0;
  for (const { baseOffset, lastOffset, transaction, outcome, settledAt } of watched.scan.batches(
    watched.batch,
  )) {
    if (settledAt >= watched.stable) break;
    let seen = 0;
    for (
      let record = watched.waiting[at];
      record !== undefined && record.offset <= lastOffset;
      record = watched.waiting[at]
    ) {
      numbered.push({ ...record, transaction });
      seen += 1;
      at += 1;
    }
    const wanted = outcome === 'committed' ? lastOffset - baseOffset + 1 : 0;
    if (seen !== wanted) {
      complaints.push(`@${baseOffset}: ${seen} records seen of ${wanted}, ${outcome}`);
    }
    watched.batch += 1;
  }
  watched.waiting = watched.waiting.slice(at);
  return { numbered, complaints };
}
