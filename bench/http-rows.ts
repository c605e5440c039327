/**
 * `node --import tsx bench/http-rows.ts [--keys 100000] [--requests 5000]`: how long `GET /v1/tables/t/rows` takes while a real service
 * answers it from its state. KAFKA_BROKERS and REDIS_URL say where; `dist` has to be built.
 */
import { Agent, request } from 'node:http';
import { performance } from 'node:perf_hooks';
import { parseArgs } from 'node:util';
import { openKafkaLog } from '../src/adapters/kafka/kafka-log.ts';
import { untilCaughtUp } from '../test/support/check-output.ts';
import { ServiceProcess } from '../test/support/service-process.ts';
import { freePort } from '../test/support/services.ts';
import { produce } from '../test/support/workload.ts';

const { values } = parseArgs({
  options: {
    keys: { type: 'string', default: '100000' },
    requests: { type: 'string', default: '5000' },
    together: { type: 'string', default: '4' },
  },
});
const keys = Number(values.keys);
const requests = Number(values.requests);
const brokers = process.env['KAFKA_BROKERS'] ?? '127.0.0.1:19092';
const redisUrl = process.env['REDIS_URL'] ?? 'redis://127.0.0.1:16379';
const pipeline = `rows${Date.now()}`;
const source = `${pipeline}.source`;

const sql = `CREATE SOURCE orders (region STRING, item STRING, qty INT, seq BIGINT) WITH (topic = '${source}');
CREATE STREAMING TABLE cur WITH (topic = '${pipeline}.cur')
FLOW REPLACE USING (region) SEQUENCE BY seq BY NAME SELECT region, item, qty, seq FROM STREAM(orders);`;

const agent = new Agent({ keepAlive: true, maxSockets: Number(values.together) });

function ask(port: number, key: string): Promise<{ ms: number; readFrom: unknown }> {
  const path = `/v1/tables/cur/rows?key=${encodeURIComponent(JSON.stringify({ region: key }))}`;
  const startedMs = performance.now();
  return new Promise((resolve, reject) => {
    request({ host: '127.0.0.1', port, path, agent }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (part: string) => {
        text += part;
      });
      response.on('end', () => {
        const { readFrom } = JSON.parse(text) as { readFrom?: unknown };
        resolve({ ms: performance.now() - startedMs, readFrom });
      });
    })
      .on('error', reject)
      .end();
  });
}

const log = await openKafkaLog({ brokers: brokers.split(','), clientId: 'bench' });
const port = await freePort();
const options = {
  'http.enabled': true,
  'http.port': port,
  'http.requestsPerSecondMax': 100_000,
  'state.kind': 'redis',
};
const service = new ServiceProcess({ brokers, redisUrl, pipeline, instance: '0', sql, options });
try {
  await log.createTopics([{ name: source, partitions: 4, replicationFactor: -1, configs: {} }]);
  const records = Array.from({ length: keys }, (_, index) => {
    const row = { region: `R${index}`, item: `i${index}`, qty: 1, seq: 1 };
    return { partition: index % 4, value: JSON.stringify(row) };
  });
  await produce(log, source, records);
  service.start();
  await untilCaughtUp(log, { source, pipeline }, 120_000);
  const times: number[] = [];
  let fromState = 0;
  const one = async (count: number): Promise<void> => {
    for (let index = 0; index < count; index += 1) {
      const { ms, readFrom } = await ask(port, `R${Math.floor(Math.random() * keys)}`);
      times.push(ms);
      if (readFrom === 'state') fromState += 1;
    }
  };
  const together = Number(values.together);
  await Promise.all(Array.from({ length: together }, () => one(200)));
  times.length = 0;
  fromState = 0;
  await Promise.all(Array.from({ length: together }, () => one(requests / together)));
  times.sort((a, b) => a - b);
  const at = (share: number): string => (times[Math.floor(times.length * share)] ?? 0).toFixed(2);
  console.log(
    `${times.length} requests, ${together} at a time, ${fromState} from the state: p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, longest ${at(0.9999)} ms`,
  );
} finally {
  agent.destroy();
  await service.end();
  await service.dispose();
  await log.close();
}
