import { requireOptions } from '../config/load-config.ts';
import { catalogTopicOf } from '../plan/topology.ts';
import { gapText } from '../refresh/continuity.ts';
import { type RecordedGap, recordedGaps } from '../runtime/takeover/gaps.ts';
import { openCatalog } from '../runtime/topics/catalog.ts';
import type { Command, ExitCode } from './command.ts';
import { withLog } from './pipeline-files.ts';

export const gaps: Command = {
  name: 'gaps',
  summary:
    'list the gaps in what the flows have read: who lost which records, and whether it was accepted',
  arguments: '',
  example: 'tidemark gaps --pipeline.name bookings --kafka.brokers localhost:9092',
  flags: {},
  usesConfig: true,
  run: async (invocation) => {
    const config = invocation.config();
    requireOptions(config, ['pipeline.name', 'kafka.brokers']);
    const pipeline = config['pipeline.name'] ?? '';
    const { terminal } = invocation;
    return withLog<ExitCode>(invocation, config, async (log) => {
      const catalog = await openCatalog(log, catalogTopicOf(pipeline));
      try {
        const found = catalog === undefined ? [] : recordedGaps(catalog);
        found.sort((a, b) => a.detectedAtMs - b.detectedAtMs);
        if (catalog === undefined) {
          terminal.err(`pipeline "${pipeline}" has not run on this cluster yet\n`);
        }
        if (invocation.json) {
          invocation.printJson(found);
        } else {
          for (const gap of found) terminal.out(gapLines(gap));
          if (found.length === 0) {
            terminal.out('no gaps\n');
            terminal.err(
              'A run meets them. What is gone already before a flow that stands: tidemark status and tidemark plan\n',
            );
          }
        }
        return 0;
      } finally {
        await catalog?.close();
      }
    });
  },
};

function gapLines(gap: RecordedGap): string {
  const time = (ms: number): string => new Date(ms).toISOString();
  const accepted =
    gap.acceptedAtMs === undefined ? 'not accepted' : `accepted ${time(gap.acceptedAtMs)}`;
  return `${gap.id}\n  ${gapText(gap)}\n  detected ${time(gap.detectedAtMs)}, ${accepted}\n`;
}
