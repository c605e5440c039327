import type { OutgoingRecord } from '../src/ports/log.ts';
import type { BenchOptions } from './options.ts';
import type { BenchResult } from './result.ts';
import { BenchService, quantile, round, sleep } from './service.ts';
import type { BenchWorld } from './world.ts';

const tickMs = 5;
const warmUpMs = 3_000;

/**
 * Records at a steady rate, each with its own key and the time at which it was handed to the producer; a committed reader of the output topic notes
 * when it sees them. What passes in between is the latency: producer, service, transaction and reader together.
 */
export async function latency(world: BenchWorld, options: BenchOptions): Promise<BenchResult> {
  const { rate, seconds, partitions } = options;
  const service = new BenchService(world.pipelineFile(), world.environment());
  try {
    await service.assigned();
    const count =
      (await world.log.describeTopics([world.target])).get(world.target)?.partitions ?? 0;
    const reader = world.log.openReader();
    for (let partition = 0; partition < count; partition += 1) {
      reader.assign(world.target, partition, 0);
    }
    const total = Math.ceil(((seconds * 1000 + warmUpMs) / 1000) * rate);
    const sentAt = new Float64Array(total);
    const seen = new Uint8Array(total);
    const latencies: number[] = [];
    let seenCount = 0;
    let repeated = 0;
    let isReading = true;
    const begin = performance.now();
    const measureFrom = begin + warmUpMs;
    const reading = (async () => {
      while (isReading && seenCount < total) {
        for (const { records } of await reader.poll(100)) {
          const now = performance.now();
          while (records.next()) {
            if (records.valueEnd < 0) continue;
            const text = records.bytes.toString('latin1', records.valueStart, records.valueEnd);
            const at = Number(/"payment_id":(\d+)/.exec(text)?.[1] ?? -1);
            if (seen[at] === 1) {
              repeated += 1;
              continue;
            }
            seen[at] = 1;
            seenCount += 1;
            if ((sentAt[at] ?? 0) >= measureFrom) latencies.push(now - (sentAt[at] ?? 0));
          }
        }
      }
    })();
    const producer = await world.log.openProducer(undefined);
    const record = emptyRecord();
    const cpuBefore = service.cpuSeconds;
    let sent = 0;
    while (sent < total) {
      const due = Math.min(total, Math.floor(((performance.now() - begin) / 1000) * rate));
      for (; sent < due; sent += 1) {
        sentAt[sent] = performance.now();
        const text = `{"payment_id":${sent},"seq":${1_795_990_000_000_000_000n + BigInt(sent)},"amount":${sent % 1000}.50,"currency":"EUR","status":"SETTLED","updated_at":"2026-11-30T01:14:00.000Z","note":"order ${sent} via \\"web\\" checkout, attempt 1"}`;
        record.value = Buffer.from(text, 'latin1');
        record.valueEnd = record.value.length;
        record.timestampMs = Date.now();
        producer.append(world.source, sent % partitions, record);
      }
      // Not waited for: a producer that waits for each acknowledgement would set the pace itself.
      producer.drain(0).catch(() => undefined);
      await sleep(tickMs);
    }
    await producer.commit([]);
    const cpu = service.cpuSeconds - cpuBefore;
    const elapsed = (performance.now() - begin) / 1000;
    const deadline = performance.now() + 20_000;
    while (seenCount < total && performance.now() < deadline) await sleep(50);
    isReading = false;
    await reading;
    await producer.close();
    await reader.close();
    latencies.sort((a, b) => a - b);
    return {
      rate,
      measured: latencies.length,
      p50Ms: round(quantile(latencies, 0.5), 1),
      p90Ms: round(quantile(latencies, 0.9), 1),
      p99Ms: round(quantile(latencies, 0.99), 1),
      p999Ms: round(quantile(latencies, 0.999), 1),
      cpuMsPerSecond: round((cpu / elapsed) * 1000, 1),
      differences: total - seenCount + repeated,
    };
  } finally {
    await service.stop();
  }
}

function emptyRecord(): OutgoingRecord {
  const nothing = Buffer.alloc(0);
  return {
    key: nothing,
    keyStart: 0,
    keyEnd: -1,
    value: nothing,
    valueStart: 0,
    valueEnd: 0,
    headers: nothing,
    headersStart: 0,
    headersEnd: 0,
    timestampMs: 0,
  };
}
