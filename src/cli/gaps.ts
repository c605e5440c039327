import { composeLog } from '../compose.ts';
import { requireOptions } from '../config/load-config.ts';
import { gapText } from '../refresh/continuity.ts';
import { type RecordedGap, recordedGaps } from '../runtime/takeover/gaps.ts';
import { Catalog } from '../runtime/topics/catalog.ts';
import type { Command } from './command.ts';

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
    const log = await composeLog(config, (text) => invocation.terminal.err(`${text}\n`));
    const catalog = new Catalog(log, `${config['pipeline.name']}.catalog`);
    try {
      await catalog.read();
      const found = recordedGaps(catalog).sort((a, b) => a.detectedAtMs - b.detectedAtMs);
      if (invocation.json) {
        invocation.printJson(found);
      } else {
        for (const gap of found) invocation.terminal.out(gapLines(gap));
        if (found.length === 0) invocation.terminal.out('no gaps\n');
      }
      return 0;
    } finally {
      await catalog.close();
      await log.close();
    }
  },
};

function gapLines(gap: RecordedGap): string {
  const time = (ms: number): string => new Date(ms).toISOString();
  const accepted =
    gap.acceptedAtMs === undefined ? 'not accepted' : `accepted ${time(gap.acceptedAtMs)}`;
  return `${gap.id}\n  ${gapText(gap)}\n  detected ${time(gap.detectedAtMs)}, ${accepted}\n`;
}
