import { Chaos, type ChaosReport } from '../test/support/chaos.ts';
import { buildFirst } from './build-first.ts';
import { refuse, scriptOptions, wholeNumber } from './script-options.ts';

const usage = `
npm run chaos -- [options]: real services on a Kafka and a Redis of its own (free ports), while records come all the time
and processes, Redis and the broker are killed, stopped, emptied, rolled back, failed over and started again, and the
source is cut behind and ahead of the checkpoints, at random. All along it is watched what readers see; after each storm,
and in the end, output, checkpoints and account are judged. The last line is the verdict, and the exit code is 1 unless
there was something to judge and no difference.
  --minutes N    how long, default 10
  --seed S       repeats records and faults, though not the machine's timing
  --instances N  processes of the service, default 3
  --json         the report on standard output, progress on standard error
`;
const values = scriptOptions(usage, {
  minutes: { type: 'string', default: '10' },
  seed: { type: 'string' },
  instances: { type: 'string', default: '3' },
  json: { type: 'boolean', default: false },
});
const minutes = Number(values.minutes);
if (!(minutes > 0)) refuse(`--minutes takes a number above 0, not "${values.minutes}"`);

const say = (text: string): void => {
  const line = `${new Date().toISOString().slice(11, 19)} ${text}`;
  if (values.json) console.error(line);
  else console.log(line);
};
buildFirst();
const chaos = new Chaos({
  minutes,
  seed: values.seed === undefined ? Date.now() % 1_000_000 : wholeNumber('seed', values.seed, 0),
  instances: wholeNumber('instances', values.instances),
  say,
});
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    say(`${signal}: the storm ends early`);
    chaos.stop();
  });
}

function print({ seed, minutes, faults, tables, verdicts, differences }: ChaosReport): void {
  const counts = Object.entries(faults).map(([name, count]) => `${name} ${count}`);
  say(`faults: ${counts.join(', ')}`);
  for (const difference of differences.slice(0, 50)) say(`  ${difference}`);
  const records = Math.max(0, ...tables.map(({ sourceRecords }) => sourceRecords));
  const outcome = differences.length === 0 ? 'passed' : 'FAILED';
  say(
    `chaos ${outcome}: seed ${seed}, ${minutes} minutes, ${records} records, judged ${verdicts} times, differences: ${differences.length}`,
  );
}

const report = await chaos.run();
print(report);
if (values.json) console.log(JSON.stringify(report));
process.exitCode = report.differences.length === 0 ? 0 : 1;
