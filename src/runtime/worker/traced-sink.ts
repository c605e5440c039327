import { appendHeaders, HeaderWriter } from '../../data/record-headers.ts';
import type { RecordSink } from '../../ports/log.ts';

const headerName = 'traceparent';

/**
 * A sink that gives the records of one topic the context of their transaction. Invariant: the headers that were there
 * stay as they are; other topics pass through untouched.
 */
export function tracedSink(sink: RecordSink, outputTopic: string, traceparent: Buffer): RecordSink {
  const headers = new HeaderWriter();
  return {
    append: (topic, partition, record) => {
      if (topic !== outputTopic) {
        sink.append(topic, partition, record);
        return;
      }
      const { headers: bytes, headersStart, headersEnd } = record;
      const section = { bytes: asBuffer(bytes), start: headersStart, end: headersEnd };
      appendHeaders(headers, 1, section, () => headers.add(headerName, traceparent));
      record.headers = headers.writer.buffer;
      record.headersStart = 0;
      record.headersEnd = headers.writer.length;
      sink.append(topic, partition, record);
      // The record is filled again and again by its owner, who does not know of the header.
      record.headers = bytes;
      record.headersStart = headersStart;
      record.headersEnd = headersEnd;
    },
  };
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes)
    ? bytes
    : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
