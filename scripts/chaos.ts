/**
 * `npm run chaos -- --minutes N [--seed S] [--instances 3]`: real services on a real Kafka and Redis of its own, while
 * records come all the time and processes, Redis and the broker are killed, stopped, emptied, rolled back and
 * started again at random. Then the logs are judged; the last line says `differences: N`, and the exit code is 1 unless
 * it is 0. A seed repeats records and faults, though not the machine's timing.
 */
import { parseArgs } from 'node:util';
import { Chaos } from '../test/support/chaos.ts';

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    seed: { type: 'string' },
    instances: { type: 'string', default: '3' },
  },
});

const chaos = new Chaos({
  minutes: Number(values.minutes),
  seed: values.seed === undefined ? Date.now() % 1_000_000 : Number(values.seed),
  instances: Number(values.instances),
  say: (text) => console.log(text),
});
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    console.log(`${signal}: the storm ends early`);
    chaos.stop();
  });
}
process.exitCode = (await chaos.run()) === 0 ? 0 : 1;
