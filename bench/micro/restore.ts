/**
 * What a key costs on its way from the output topic back into the embedded state, without a broker: CPU time of this
 * process (user and system, all threads).
 * Run: node --import tsx bench/micro/restore.ts [keys] [row_set|rows]
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openEmbeddedStateStore } from '../../src/adapters/embedded/embedded-state-store.ts';
import { RecordBatchCursor } from '../../src/adapters/kafka/wire/record-batch-reader.ts';
import { RecordBatchBuilder } from '../../src/adapters/kafka/wire/record-batch-writer.ts';
import { ByteWriter } from '../../src/data/byte-writer.ts';
import { provenanceTemplate, writeProvenance } from '../../src/data/provenance.ts';
import { writeEnvelopeHead } from '../../src/data/row-envelope.ts';
import { sequenceCodec } from '../../src/data/sequence.ts';
import { StateEntries } from '../../src/data/state-entries.ts';
import type { Slice } from '../../src/ports/log.ts';
import { OutputWriter } from '../../src/task/output/output-record.ts';
import { Restore } from '../../src/task/restore/restore-entries.ts';

const keys = Number(process.argv[2] ?? 300_000);
const output = (process.argv[3] ?? 'row_set') as 'row_set' | 'rows';
const sequence = sequenceCodec({ kind: 'bigint' });
const sliceBytes = 500_000;

const spent = new Map<string, number>();

async function stage<Result>(name: string, run: () => Result | Promise<Result>): Promise<Result> {
  const before = process.cpuUsage();
  const result = await run();
  const { user, system } = process.cpuUsage(before);
  spent.set(name, (spent.get(name) ?? 0) + user + system);
  return result;
}

/** The output topic of a partition: rows of about 200 bytes, one a key. */
function outputSets(): { readonly bytes: Buffer; readonly position: number }[] {
  const builder = new RecordBatchBuilder(sliceBytes);
  const sets: { bytes: Buffer; position: number }[] = [];
  let position = 0;
  const finish = (): void => {
    const { recordCount } = builder;
    const bytes = Buffer.from(
      builder.finish({
        producerId: -1n,
        producerEpoch: -1,
        baseSequence: -1,
        transactional: false,
        compression: 'lz4',
      }),
    );
    bytes.writeBigInt64BE(BigInt(position), 0);
    sets.push({ bytes, position });
    position += recordCount;
  };
  const sink = {
    append: (_topic: string, _partition: number, record: Parameters<typeof builder.append>[0]) => {
      if (builder.append(record)) return;
      finish();
      builder.append(record);
    },
  };
  const writer = new OutputWriter({
    table: 't',
    topic: 't',
    partition: 0,
    generation: 0,
    writeSequence: sequence.writeText,
    distinct: false,
    recordBytesMax: 1_000_000,
  });
  // Rows of several source partitions take turns, as they do where no key says which one is theirs.
  const templates = [0, 1, 2, 3].map((partition) =>
    provenanceTemplate('0123456789abcdef0123456789abcdef', partition, 0),
  );
  const envelope = new ByteWriter(1024);
  const encoded = new ByteWriter(16);
  const provenance = new ByteWriter(64);
  for (let index = 0; index < keys; index += 1) {
    envelope.reset();
    encoded.reset();
    provenance.reset();
    sequence.encode(BigInt(1_700_000_000_000 + index * 7), encoded);
    writeProvenance(provenance, templates[index % 4] as Buffer, index, 0);
    writeEnvelopeHead(envelope, 0, provenance.buffer, encoded);
    const rowStart = envelope.length;
    const note = `order ${index * 7_919} of a customer who has \\"asked\\" for it`;
    envelope.utf8(
      `{"payment_id":${index},"seq":${1_700_000_000_000 + index * 7},"amount":12.50,"currency":"EUR","status":"PAID","updated_at":"2026-11-30T10:00:00.000000Z","note":"${note}"}`,
    );
    const key = Buffer.from(`{"payment_id":${index}}`);
    writer.single(
      sink,
      { bytes: key, start: 0, end: key.length },
      {
        bytes: envelope.buffer,
        envelopeStart: 0,
        sequenceStart: rowStart - encoded.length,
        sequenceEnd: rowStart,
        rowStart,
        rowEnd: envelope.length,
      },
      { isNumbered: output === 'rows', nowMs: 1_790_000_000_000 },
    );
  }
  finish();
  return sets;
}

function sliceOf({ bytes, position }: { bytes: Buffer; position: number }): Slice {
  const records = new RecordBatchCursor({
    topic: 't',
    partition: 0,
    bytes,
    position,
    abortedTransactions: [],
  });
  const { recordCountMax, nextOffset } = records;
  return {
    topic: 't',
    partition: 0,
    records,
    recordCountMax,
    byteLength: bytes.length,
    fromOffset: position,
    nextOffset,
    logStart: 0,
    stableOffset: nextOffset,
    highWatermark: nextOffset,
  };
}

const directory = mkdtempSync(join(tmpdir(), 'tidemark-bench-'));
try {
  const sets = outputSets();
  const store = await openEmbeddedStateStore({ directory });
  const session = await store.open({ pipeline: 'p', flow: 't', generation: 0, partition: 0 }, 1);
  const restoring = new Restore({ output, sequence });
  for (const set of sets) {
    const slice = await stage('check and open a slice', () => sliceOf(set));
    const changes = await stage('take records apart', () => restoring.load(slice));
    const needed = restoring.keysNeeded(changes);
    const { entries: present } = await stage('read present', () => session.read(needed));
    const entries = await stage('make entries', () => restoring.apply(changes, needed, present));
    await stage('write', () =>
      session.write({
        entries: StateEntries.of(entries),
        mark: { topicId: 't', offset: slice.nextOffset },
      }),
    );
  }
  await store.close();
  const again = await openEmbeddedStateStore({ directory });
  await stage('open what is there', () =>
    again.open({ pipeline: 'p', flow: 't', generation: 0, partition: 0 }, 2),
  );
  await again.close();
} finally {
  rmSync(directory, { recursive: true });
}
for (const [name, micros] of spent) {
  console.log(`${name.padEnd(26)} ${((micros * 1000) / keys).toFixed(0).padStart(6)} ns CPU a key`);
}
