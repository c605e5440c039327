import { explainPipeline } from '../plan/explain.ts';
import type { Command } from './command.ts';
import { faultJson, loadPipeline } from './load-pipeline.ts';

export const explain: Command = {
  name: 'explain',
  summary: 'show what a pipeline does: steps with types, tasks, topics, state',
  arguments: 'FILE…',
  example: 'tidemark explain bookings.sql --flow by_property',
  flags: { flow: { type: 'string', value: 'NAME', doc: 'Only this flow.' } },
  usesConfig: true,
  run: async (invocation) => {
    const config = invocation.config();
    const paths =
      invocation.positionals.length > 0 ? invocation.positionals : config['pipeline.files'];
    const { plan, faults, faultText } = loadPipeline(paths);
    if (faultText !== '') invocation.terminal.err(`${faultText}\n`);
    if (plan === undefined) {
      if (invocation.json) invocation.printJson({ valid: false, faults: faults.map(faultJson) });
      return 3;
    }
    const flow = invocation.text('flow');
    const pipeline = config['pipeline.name'];
    const explained = explainPipeline(plan, {
      ...(flow === undefined ? {} : { flow }),
      ...(pipeline === undefined ? {} : { pipeline }),
    });
    if (invocation.json) invocation.printJson(explained.json);
    else
      invocation.terminal.out(
        explained.text.endsWith('\n') ? explained.text : `${explained.text}\n`,
      );
    return 0;
  },
};
