import type { Command } from './command.ts';
import { faultJson, loadPipeline } from './load-pipeline.ts';

export const validate: Command = {
  name: 'validate',
  summary: 'check every rule of a pipeline without reading a topic',
  arguments: 'FILE…',
  example: 'tidemark validate pipelines/*.sql',
  flags: {},
  usesConfig: true,
  run: async (invocation) => {
    const paths =
      invocation.positionals.length > 0
        ? invocation.positionals
        : invocation.config()['pipeline.files'];
    const { plan, faults, faultText } = await loadPipeline(paths);
    const { out, err } = invocation.terminal;
    if (invocation.json) {
      invocation.printJson({ valid: plan !== undefined, faults: faults.map(faultJson) });
    } else {
      if (faultText !== '') err(`${faultText}\n`);
      const errors = faults.filter(({ severity }) => severity === 'error').length;
      const warnings = faults.length - errors;
      if (plan === undefined) {
        err(`${count(errors, 'error')}, ${count(warnings, 'warning')}\n`);
      } else {
        const { tables, flows, sources } = plan;
        out(
          `valid: ${count(sources.length, 'source')}, ${count(tables.length, 'table')}, ${count(flows.length, 'flow')}, ${count(warnings, 'warning')}\n`,
        );
      }
    }
    return Promise.resolve(plan === undefined ? 3 : 0);
  },
};

function count(number: number, word: string): string {
  return `${number} ${word}${number === 1 ? '' : 's'}`;
}
