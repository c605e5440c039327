import type { WrittenNames } from '../plan/plan-pipeline.ts';
import type { Command } from './command.ts';
import { countText } from './count-text.ts';
import { faultJson, loadPipeline } from './load-pipeline.ts';
import { pipelineFlag, pipelinePaths } from './pipeline-files.ts';

export const validate: Command = {
  name: 'validate',
  summary: 'check every rule of a pipeline without reading a topic',
  arguments: 'FILE…',
  example: 'tidemark validate pipelines/*.sql',
  flags: pipelineFlag,
  usesConfig: true,
  run: async (invocation) => {
    const { plan, faults, faultText, written } = await loadPipeline(pipelinePaths(invocation), {
      pipeline: invocation.config()['pipeline.name'],
    });
    const { out, err } = invocation.terminal;
    if (invocation.json) {
      invocation.printJson({
        valid: plan !== undefined,
        faults: faults.map(faultJson),
        ...(plan === undefined ? {} : written),
      });
    } else {
      if (faultText !== '') err(`${faultText}\n`);
      const errors = faults.filter(({ severity }) => severity === 'error').length;
      const warnings = faults.length - errors;
      if (plan === undefined) {
        err(`${countText(errors, 'error')}, ${countText(warnings, 'warning')}\n`);
      } else {
        out(`valid: ${writtenText(written)}, ${countText(warnings, 'warning')}\n`);
      }
    }
    return Promise.resolve(plan === undefined ? 3 : 0);
  },
};

/** What the files define; the rarer kinds only where there are any. */
function writtenText(written: WrittenNames): string {
  const { sources, tables, materializedViews, views, sinks, flows } = written;
  const rare = [
    [materializedViews.length, 'materialized view'],
    [views.length, 'view'],
    [sinks.length, 'sink'],
  ] as const;
  return [
    countText(sources.length, 'source'),
    countText(tables.length, 'table'),
    ...rare.flatMap(([number, word]) => (number === 0 ? [] : [countText(number, word)])),
    countText(flows.length, 'flow'),
  ].join(', ');
}
