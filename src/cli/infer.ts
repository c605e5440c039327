import { FlowError } from '../base/errors.ts';
import { requireOptions } from '../config/load-config.ts';
import { SourceInference } from '../plan/infer-source.ts';
import type { Log } from '../ports/log.ts';
import { numbersTo } from '../runtime/refresh/refresh-facts.ts';
import { type Command, type ExitCode, usageError } from './command.ts';
import { countText } from './count-text.ts';
import { withLog } from './pipeline-files.ts';

const recordsMax = 1_000;

export const infer: Command = {
  name: 'infer',
  summary: "print a CREATE SOURCE from a topic's first records",
  arguments: 'TOPIC',
  example: 'tidemark infer bookings --kafka.brokers localhost:9092',
  flags: {
    name: { type: 'string', value: 'NAME', doc: 'Name of the source; else made of the topic.' },
  },
  usesConfig: true,
  run: async (invocation) => {
    const [topic, extra] = invocation.positionals;
    if (topic === undefined || extra !== undefined) {
      throw usageError('one topic is needed', 'Usage: tidemark infer TOPIC');
    }
    const config = invocation.config();
    requireOptions(config, ['kafka.brokers']);
    return withLog<ExitCode>(invocation, config, async (log) => {
      const inference = new SourceInference(topic, invocation.text('name'));
      await readFirst(log, topic, inference);
      const found = inference.result();
      if (invocation.json) invocation.printJson(found);
      else {
        const notes = found.notes.map((note) => `-- ${note}\n`).join('');
        invocation.terminal.out(
          `-- from ${countText(found.records, 'record')}\n${notes}${found.sql}`,
        );
      }
      return 0;
    });
  },
};

/** The first records of every partition in turn, so that none speaks for all; tombstones say nothing. */
async function readFirst(log: Log, topic: string, inference: SourceInference): Promise<void> {
  const found = (await log.describeTopics([topic])).get(topic);
  if (found === undefined) {
    throw new FlowError('TOPIC_MISSING', `topic "${topic}" does not exist`, {
      hint: 'Check its name, whose case matters, and kafka.brokers. A topic that is not there yet has no records to infer columns from.',
    });
  }
  const numbers = numbersTo(found.partitions);
  const share = Math.max(1, Math.ceil(recordsMax / numbers.length));
  const reader = log.openReader();
  try {
    for (const [partition, { start, stable }] of await log.offsetRanges(topic, numbers)) {
      if (start >= stable) continue;
      reader.assign(topic, partition, start);
      let taken = 0;
      for (let position = start; position < stable && taken < share; ) {
        for (const { records, nextOffset } of await reader.poll(500)) {
          while (taken < share && records.next()) {
            const { bytes, valueStart, valueEnd, offset } = records;
            if (valueEnd < 0) continue;
            taken += 1;
            inference.add(
              bytes.toString('utf8', valueStart, valueEnd),
              `${topic}/${partition}@${offset}`,
            );
          }
          position = nextOffset;
        }
      }
      reader.unassign(topic, partition);
    }
  } finally {
    await reader.close();
  }
}
