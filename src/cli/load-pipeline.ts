import { readFileSync } from 'node:fs';
import { formatFault } from '../base/fault-text.ts';
import type { Fault } from '../base/place.ts';
import type { Column } from '../data/types.ts';
import type { PipelinePlan } from '../plan/pipeline-plan.ts';
import { planPipeline } from '../plan/plan-pipeline.ts';
import { usageError } from './command.ts';

export type LoadedPipeline = {
  readonly plan: PipelinePlan | undefined;
  readonly faults: readonly Fault[];
  /** Every fault as people read it, errors first. */
  readonly faultText: string;
};

/** Reads and plans the files of a pipeline. Invariant: with an error among the faults there is no plan. */
export function loadPipeline(
  paths: readonly string[],
  schemas?: ReadonlyMap<string, readonly Column[]>,
): LoadedPipeline {
  if (paths.length === 0) {
    throw usageError(
      'no pipeline file is given',
      'Name the SQL files after the verb, or set pipeline.files in tidemark.yaml.',
    );
  }
  const files = paths.map((file) => ({ file, text: readText(file) }));
  const { plan, faults } = planPipeline(files, schemas === undefined ? {} : { schemas });
  const texts = new Map(files.map(({ file, text }) => [file, text]));
  const ordered = [...faults].sort((a, b) => Number(isWarning(a)) - Number(isWarning(b)));
  const faultText = ordered
    .map((fault) => formatFault(fault, texts.get(fault.place.file) ?? ''))
    .join('\n');
  return { plan: faults.some((fault) => !isWarning(fault)) ? undefined : plan, faults, faultText };
}

function isWarning(fault: Fault): boolean {
  return fault.severity === 'warning';
}

export function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? 'error';
    throw usageError(`file "${path}" cannot be read (${code})`);
  }
}

/** A fault as machines read it. */
export function faultJson({ severity, code, message, detail, hint, place }: Fault): unknown {
  const { file, line, column } = place;
  return {
    severity,
    code,
    message,
    ...(detail === undefined ? {} : { detail }),
    ...(hint === undefined ? {} : { hint }),
    file,
    line,
    column,
  };
}
