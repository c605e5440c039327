import { FlowError } from '../../base/errors.ts';
import { filePathOf } from '../../data/file-topic.ts';
import type {
  CommittedOffset,
  GroupMember,
  GroupOptions,
  Log,
  LogProducer,
  LogReader,
  OffsetCommit,
  OffsetRange,
  SeatedMember,
  Slice,
  TopicDescription,
  TopicSpec,
} from '../../ports/log.ts';
import { FileCursor } from './file-cursor.ts';
import { type FileVersion, FileVersions } from './file-versions.ts';
import type { ReadFiles } from './read-files.ts';

/**
 * A log in which files stand as topics too: of one partition, a record a line, and with an id that tells one content
 * from another. Invariant: a file is never written, grouped or given a checkpoint; whatever is no file goes to the log
 * behind as it is.
 */
export class FileLog implements Log {
  readonly #log: Log;
  readonly #versions: FileVersions;

  constructor(log: Log, files?: ReadFiles) {
    this.#log = log;
    this.#versions = new FileVersions(files);
  }

  async describeTopics(names: readonly string[]): Promise<ReadonlyMap<string, TopicDescription>> {
    const files = names.filter((name) => filePathOf(name) !== undefined);
    const others = names.filter((name) => filePathOf(name) === undefined);
    const found = new Map(others.length === 0 ? [] : await this.#log.describeTopics(others));
    for (const name of files) {
      const version = await this.#versions.current(name);
      if (version === undefined) continue;
      found.set(name, { name, topicId: version.id, partitions: 1, configs: new Map() });
    }
    return found;
  }

  async offsetRanges(
    topic: string,
    partitions: readonly number[],
  ): Promise<ReadonlyMap<number, OffsetRange>> {
    if (filePathOf(topic) === undefined) return this.#log.offsetRanges(topic, partitions);
    const { lines } = await this.#versions.known(topic);
    return new Map([[0, { start: 0, stable: lines.length, end: lines.length }]]);
  }

  async offsetsAt(
    topic: string,
    partitions: readonly number[],
    timestampMs: number,
  ): Promise<ReadonlyMap<number, number>> {
    if (filePathOf(topic) === undefined) return this.#log.offsetsAt(topic, partitions, timestampMs);
    const { lines, modifiedMs } = await this.#versions.known(topic);
    return new Map([[0, modifiedMs >= timestampMs ? 0 : lines.length]]);
  }

  openReader(): LogReader {
    return new FileReader(() => this.#log.openReader(), this.#versions);
  }

  topicNames(): Promise<readonly string[]> {
    return this.#log.topicNames();
  }

  createTopics(topics: readonly TopicSpec[]): Promise<void> {
    return this.#log.createTopics(topics);
  }

  committedOffsets(
    group: string,
    topic: string,
    partitions: readonly number[],
  ): Promise<ReadonlyMap<number, CommittedOffset>> {
    if (filePathOf(topic) !== undefined) return Promise.resolve(new Map());
    return this.#log.committedOffsets(group, topic, partitions);
  }

  deleteRecords(topic: string, before: ReadonlyMap<number, number>): Promise<void> {
    return this.#log.deleteRecords(topic, before);
  }

  deleteTopics(names: readonly string[]): Promise<void> {
    return this.#log.deleteTopics(names);
  }

  groupsOn(topics: readonly string[]): Promise<ReadonlyMap<string, readonly string[]>> {
    return this.#log.groupsOn(topics.filter((topic) => filePathOf(topic) === undefined));
  }

  groupMembers(group: string): Promise<readonly SeatedMember[]> {
    return this.#log.groupMembers(group);
  }

  removeMembers(group: string): Promise<void> {
    return this.#log.removeMembers(group);
  }

  commitCheckpoint(group: string, offsets: OffsetCommit['offsets']): Promise<void> {
    return this.#log.commitCheckpoint(group, offsets);
  }

  deleteCheckpoints(group: string): Promise<void> {
    return this.#log.deleteCheckpoints(group);
  }

  openProducer(
    transactionalId: string | undefined,
    mayWrite?: () => boolean,
  ): Promise<LogProducer> {
    return this.#log.openProducer(transactionalId, mayWrite);
  }

  joinGroup(options: GroupOptions): GroupMember {
    return this.#log.joinGroup(options);
  }

  fence(transactionalId: string): Promise<void> {
    return this.#log.fence(transactionalId);
  }

  close(): Promise<void> {
    return this.#log.close();
  }
}

type Position = { readonly topic: string; readonly version: FileVersion; offset: number };

/** Reads files from memory, and everything else by a reader of the log behind, opened when it is first needed. */
class FileReader implements LogReader {
  readonly #open: () => LogReader;
  readonly #versions: FileVersions;
  readonly #files = new Map<string, Position>();
  #reader: LogReader | undefined;

  constructor(open: () => LogReader, versions: FileVersions) {
    this.#open = open;
    this.#versions = versions;
  }

  assign(topic: string, partition: number, offset: number): void {
    if (filePathOf(topic) === undefined) this.#behind().assign(topic, partition, offset);
    else this.#files.set(topic, { topic, version: this.#versions.last(topic), offset });
  }

  unassign(topic: string, partition: number): void {
    if (!this.#files.delete(topic)) this.#reader?.unassign(topic, partition);
  }

  async poll(maxWaitMs: number): Promise<readonly Slice[]> {
    const slices = [...this.#files.values()].map(sliceOf);
    return slices.length > 0 ? slices : this.#behind().poll(maxWaitMs);
  }

  wake(): void {
    this.#reader?.wake();
  }

  range(topic: string, partition: number): OffsetRange | undefined {
    const file = this.#files.get(topic);
    if (file === undefined) return this.#reader?.range(topic, partition);
    const end = file.version.lines.length;
    return { start: 0, stable: end, end };
  }

  async close(): Promise<void> {
    this.#files.clear();
    await this.#reader?.close();
  }

  #behind(): LogReader {
    this.#reader ??= this.#open();
    return this.#reader;
  }
}

function sliceOf(position: Position): Slice {
  const { topic, version, offset } = position;
  const { lines, bytes } = version;
  if (offset >= lines.length) {
    // Whoever still waits took the end from a longer content.
    throw new FlowError('TASK_MIGRATED', `${topic} changed while it was read`);
  }
  position.offset = lines.length;
  return {
    topic,
    partition: 0,
    records: new FileCursor(version, offset),
    recordCountMax: lines.length - offset,
    byteLength: bytes.length,
    fromOffset: offset,
    nextOffset: lines.length,
    logStart: 0,
    stableOffset: lines.length,
    highWatermark: lines.length,
  };
}
