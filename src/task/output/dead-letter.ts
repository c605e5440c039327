import {
  appendHeaders,
  HeaderWriter,
  headersAfter,
  readHeaders,
} from '../../data/record-headers.ts';
import { flowOfBuilt } from '../../plan/bind/names.ts';
import type { RecordCursor, RecordSink } from '../../ports/log.ts';
import type { BadRow } from '../row/bad-row.ts';
import { emptyOutgoingRecord } from './outgoing-record.ts';

/** A record of a source that gave no rows, as the dead-letter topic keeps it. */
export type DeadLetter = BadRow & {
  /** Several pipelines may share a dead-letter topic. */
  readonly pipeline: string;
  readonly flow: string;
  readonly topic: string;
  /** Of the incarnation of the source topic that it was read from. */
  readonly topicId: string;
  readonly partition: number;
  readonly offset: number;
  readonly timestampMs: number;
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  /** The record's own header section, as `data/record-headers.ts` reads it. */
  readonly headers: Buffer;
};

export type DeadLetterTarget = {
  readonly pipeline: string;
  readonly topic: string;
  readonly partitions: number;
};

/** Where a record was read: the source of a flow. */
export type DeadLetterPlace = {
  readonly flow: string;
  readonly topic: string;
  readonly topicId: string;
  readonly partition: number;
};

const names = [
  'tm-source-topic',
  'tm-source-topic-id',
  'tm-source-partition',
  'tm-source-offset',
  'tm-source-timestamp',
  'tm-pipeline',
  'tm-flow',
  'tm-error-class',
  'tm-error-message',
] as const;

/** What a message may take of the record; the value itself is there in full. */
const messageCharactersMax = 2_000;

/**
 * Writes records of a source to the dead-letter topic and reads them back. Invariant: key, value, headers, time and
 * place of the record are there byte for byte, so that a replay gives its rows the provenance that they would have had.
 *
 * Headers: those named above in this order, then the record's own. Changes: 2026-11-30 topic id, timestamp and the
 * record's own headers; the pipeline.
 */
export class DeadLetterWriter {
  readonly #headers = new HeaderWriter();
  readonly #record = emptyOutgoingRecord();

  write(
    records: RecordCursor,
    bad: BadRow,
    place: DeadLetterPlace,
    { target, sink, nowMs }: { target: DeadLetterTarget; sink: RecordSink; nowMs: number },
  ): void {
    const { bytes, headersStart, headersEnd } = records;
    const headers = this.#headers;
    appendHeaders(headers, names.length, { bytes, start: headersStart, end: headersEnd }, () => {
      headers.addText('tm-source-topic', place.topic);
      headers.addText('tm-source-topic-id', place.topicId);
      headers.addText('tm-source-partition', String(place.partition));
      headers.addText('tm-source-offset', String(records.offset));
      headers.addText('tm-source-timestamp', String(records.timestampMs));
      headers.addText('tm-pipeline', target.pipeline);
      // What a refresh sets aside is a dead letter of the flow whose table it builds.
      headers.addText('tm-flow', flowOfBuilt(place.flow));
      headers.addText('tm-error-class', bad.errorClass);
      headers.addText('tm-error-message', bad.message.slice(0, messageCharactersMax));
    });
    const record = this.#record;
    record.key = bytes;
    record.keyStart = records.keyStart;
    record.keyEnd = records.keyEnd;
    record.value = bytes;
    record.valueStart = records.valueStart;
    record.valueEnd = records.valueEnd;
    record.headers = headers.writer.buffer;
    record.headersStart = 0;
    record.headersEnd = headers.writer.length;
    record.timestampMs = nowMs;
    sink.append(target.topic, place.partition % target.partitions, record);
  }
}

/** undefined: the record is none that a flow wrote. */
export function readDeadLetter(records: RecordCursor): DeadLetter | undefined {
  const { bytes, headersStart, headersEnd } = records;
  const headers = readHeaders(bytes, headersStart, headersEnd);
  const texts = names.map((name, at) => {
    const header = headers[at];
    return header?.key === name ? header.value?.toString('utf8') : undefined;
  });
  const [topic, topicId, partition, offset, timestamp, pipeline, flow, errorClass, message] = texts;
  if (topic === undefined || topicId === undefined) return undefined;
  if (pipeline === undefined || flow === undefined) return undefined;
  const numbers = [partition, offset, timestamp].map(Number);
  if (!numbers.every(Number.isSafeInteger)) return undefined;
  return {
    pipeline,
    flow,
    topic,
    topicId,
    partition: numbers[0] ?? 0,
    offset: numbers[1] ?? 0,
    timestampMs: numbers[2] ?? 0,
    errorClass: errorClass ?? '',
    message: message ?? '',
    key: part(bytes, records.keyStart, records.keyEnd),
    value: part(bytes, records.valueStart, records.valueEnd),
    headers: headersAfter(bytes, headersStart, headersEnd, names.length),
  };
}

function part(bytes: Buffer, start: number, end: number): Buffer | null {
  return end < 0 ? null : Buffer.from(bytes.subarray(start, end));
}
