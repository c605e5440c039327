import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, inject, test } from 'vitest';
import { openKafkaLog } from '../../src/adapters/kafka/kafka-log.ts';
import { runCommandLine } from '../../src/cli/main-command.ts';
import type { Log } from '../../src/ports/log.ts';
import { textRecord } from '../support/log-worker.ts';
import { CliFolder } from '../support/run-cli.ts';

const text = readFileSync(join(import.meta.dirname, '../../docs/full-refresh.md'), 'utf8');
const prefix = `guide${process.pid}-${Date.now().toString(36)}-`;

let folder: CliFolder;
let log: Log;

beforeEach(async () => {
  folder = new CliFolder();
  log = await openKafkaLog({ brokers: inject('kafkaBrokers').split(','), clientId: 'guide' });
});

afterEach(async () => {
  folder.remove();
  await log.close();
});

type Step = {
  readonly command: string;
  readonly input: readonly string[];
  readonly shown: string[];
};

/** Commands of all console blocks in their order, each with its input and what the guide shows as its answer. */
function steps(): readonly Step[] {
  const found: { command: string; input: string[]; shown: string[] }[] = [];
  for (const [, block = ''] of text.matchAll(/```console\n([\s\S]*?)```/g)) {
    for (const line of block.split('\n').filter(Boolean)) {
      if (line.startsWith('$ ')) found.push({ command: line.slice(2), input: [], shown: [] });
      else if (line.startsWith('> ')) found.at(-1)?.input.push(line.slice(2));
      else found.at(-1)?.shown.push(line);
    }
  }
  return found;
}

/** Topics of the guide get names of their own on a shared cluster; tables are shown without their padding. */
function own(line: string): string {
  return line.replaceAll(/\b(booking_events|bookings)(?=["' ]|$)/g, `${prefix}$1`);
}

function plain(output: string): string {
  return output
    .replaceAll(prefix, '')
    .split('\n')
    .map((line) => line.replaceAll(/(?<=\S) {2,}/g, ' ').trimEnd())
    .filter((line) => line !== '' && !line.startsWith('{"level"'))
    .join('\n');
}

function pattern(shown: readonly string[]): RegExp {
  const parts = shown.map((line) =>
    line === '…'
      ? '(?:.*\\n)*?'
      : `${line
          .replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')
          .replaceAll('…', '.*')
          .trimEnd()}\\n`,
  );
  return new RegExp(`^${parts.join('')}$`);
}

async function tidemark(args: readonly string[]): Promise<string> {
  let output = '';
  const code = await runCommandLine(args, {
    out: (part) => {
      output += part;
    },
    err: (part) => {
      output += part;
    },
    isTerminal: false,
    environment: {
      TIDEMARK_PIPELINE_NAME: `${prefix}pipeline`,
      TIDEMARK_PIPELINE_FILES: folder.write('bookings.sql', pipeline()),
      TIDEMARK_KAFKA_BROKERS: inject('kafkaBrokers'),
      TIDEMARK_STATE_KIND: 'embedded',
      TIDEMARK_STATE_DIRECTORY: join(folder.path, 'state'),
      TIDEMARK_LOG_LEVEL: 'error',
    },
    onStop: () => undefined,
  });
  return code === 0 ? output : `${output}[exit ${code}]\n`;
}

function pipeline(): string {
  const [, sql = ''] = /```sql\n([\s\S]*?)```/.exec(text) ?? [];
  return sql.replaceAll(/topic = '(\w+)'/g, `topic = '${prefix}$1'`);
}

async function perform({ command, input }: Step): Promise<string> {
  const [program, ...args] = command.split(' ');
  const argumentOf = (flag: string): string => args[args.indexOf(flag) + 1] ?? '';
  const topic = own(argumentOf('--topic'));
  switch (program) {
    case 'tidemark':
      return tidemark(args.map((arg) => (arg === 'lost.jsonl' ? join(folder.path, arg) : arg)));
    case 'kafka-topics.sh':
      await log.createTopics([
        {
          name: topic,
          partitions: Number(argumentOf('--partitions')),
          replicationFactor: -1,
          configs: {},
        },
      ]);
      return '';
    case 'kafka-console-producer.sh': {
      const producer = await log.openProducer(undefined);
      for (const line of input.slice(0, -1)) producer.append(topic, 0, textRecord(null, line));
      await producer.commit([]);
      await producer.close();
      return '';
    }
    case 'echo':
      folder.write('offsets.json', /'(.*)'/.exec(command)?.[1] ?? '');
      return '';
    case 'kafka-delete-records.sh': {
      const { partitions } = JSON.parse(
        readFileSync(join(folder.path, argumentOf('--offset-json-file')), 'utf8'),
      ) as { partitions: { topic: string; partition: number; offset: number }[] };
      for (const one of partitions) {
        await log.deleteRecords(own(one.topic), new Map([[one.partition, one.offset]]));
      }
      return '';
    }
    default:
      throw new Error(`the guide has a command that nobody knows: ${command}`);
  }
}

test('every command of docs/full-refresh.md runs, in its order, and answers what the guide shows', async () => {
  const all = steps();
  expect(all.filter(({ command }) => command.startsWith('tidemark')).length).toBeGreaterThan(8);
  for (const step of all) {
    const output = plain(await perform(step));
    expect(`${output}\n`.replace(/^\n$/, ''), `$ ${step.command}`).toMatch(pattern(step.shown));
  }
});
