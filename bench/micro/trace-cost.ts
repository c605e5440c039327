import { performance } from 'node:perf_hooks';
import { HeaderWriter } from '../../src/data/record-headers.ts';
import type { RecordCursor } from '../../src/ports/log.ts';
import { SampledContexts } from '../../src/task/sampled-contexts.ts';

/** What looking for sampled contexts costs a record: without headers, with one that is not sampled, with 1 % sampled. */
const records = 5_000_000;
const traceparent = (flags: string): string =>
  `00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-${flags}`;

function cursor(flags: string | undefined): RecordCursor {
  const writer = new HeaderWriter();
  writer.begin(flags === undefined ? 0 : 1);
  if (flags !== undefined) writer.addText('traceparent', traceparent(flags));
  const bytes = writer.writer.copy();
  const spans = { keyStart: 0, keyEnd: -1, valueStart: 0, valueEnd: -1 };
  const place = { offset: 0, timestampMs: 0, headersStart: 0, headersEnd: bytes.length };
  return { next: () => true, bytes, ...spans, ...place };
}

const [bare, unsampled, sampled] = [cursor(undefined), cursor('00'), cursor('01')];
const kinds: readonly (readonly [string, (index: number) => RecordCursor])[] = [
  ['no header', () => bare],
  ['header, not sampled', () => unsampled],
  ['header, 1 % sampled', (index) => (index % 100 === 0 ? sampled : unsampled)],
];
for (const round of ['warm-up', 'measured']) {
  for (const [name, at] of kinds) {
    const contexts = new SampledContexts();
    const started = performance.now();
    for (let index = 0; index < records; index += 1) {
      contexts.see(at(index));
      if (index % 500 === 499) contexts.take();
    }
    const ns = ((performance.now() - started) * 1e6) / records;
    if (round === 'measured') console.log(`${name}: ${ns.toFixed(1)} ns a record`);
  }
}
