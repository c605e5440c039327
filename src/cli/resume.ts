import type { Command } from './command.ts';
import { turn } from './pause.ts';
import { pipelineFlag } from './pipeline-files.ts';

export const resume: Command = {
  name: 'resume',
  summary: 'let a flow that was paused go on from where it stands',
  arguments: 'FLOW',
  example:
    'tidemark resume bookings_current --pipeline bookings.sql --pipeline.name bookings --kafka.brokers localhost:9092',
  flags: pipelineFlag,
  usesConfig: true,
  run: (invocation) => turn(invocation, false),
};
