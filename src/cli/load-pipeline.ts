import { FlowError } from '../base/errors.ts';
import { formatFault } from '../base/fault-text.ts';
import type { Fault } from '../base/place.ts';
import type { PipelinePlan } from '../plan/pipeline-plan.ts';
import {
  type ParsedPipeline,
  type PlanOptions,
  planStatements,
  type WrittenNames,
} from '../plan/plan-pipeline.ts';
import { parsePipeline } from '../sql/parse.ts';
import { usageError } from './command.ts';
import { isModule, loadModule, type ModulePipeline } from './load-module.ts';
import { readText } from './read-text.ts';

export type LoadedPipeline = {
  readonly plan: PipelinePlan | undefined;
  readonly faults: readonly Fault[];
  /** Every fault as people read it, errors first. */
  readonly faultText: string;
  readonly written: WrittenNames;
};

/** Reads and plans the files of a pipeline, SQL and modules alike. Invariant: with an error among the faults there is no plan. */
export async function loadPipeline(
  paths: readonly string[],
  options: PlanOptions = {},
): Promise<LoadedPipeline> {
  if (paths.length === 0) {
    throw usageError(
      'no pipeline file is given',
      'Name the files after the verb, or set pipeline.files in tidemark.yaml.',
    );
  }
  const parts: (ParsedPipeline | ModulePipeline)[] = [];
  for (const path of paths) parts.push(isModule(path) ? await loadModule(path) : parseFile(path));
  refuseEmpty(parts);
  const { plan, faults, written } = planStatements(
    {
      files: parts.flatMap(({ files }) => files),
      statements: parts.flatMap(({ statements }) => statements),
      faults: parts.flatMap((part) => part.faults),
    },
    options,
  );
  const texts = new Map(parts.flatMap(({ files }) => files).map(({ file, text }) => [file, text]));
  const placed = faults.map((fault) =>
    parts.reduce((moved, part) => ('place' in part ? part.place(moved) : moved), fault),
  );
  const ordered = [...placed].sort((a, b) => Number(isWarning(a)) - Number(isWarning(b)));
  const faultText = ordered
    .map((fault) => formatFault(fault, texts.get(fault.place.file) ?? ''))
    .join('\n');
  return {
    plan: faults.some((fault) => !isWarning(fault)) ? undefined : plan,
    faults: placed,
    faultText,
    written,
  };
}

/** As files are that were not saved or not mounted: nothing to check would pass for nothing wrong. */
function refuseEmpty(parts: readonly ParsedPipeline[]): void {
  if (parts.some(({ statements, faults }) => statements.length + faults.length > 0)) return;
  const names = parts.flatMap(({ files }) => files.map(({ file }) => `"${file}"`));
  throw new FlowError('PIPELINE_INVALID', 'the pipeline has no statement', {
    ...(names.length === 0 ? {} : { detail: `Read: ${names.join(', ')}.` }),
    hint: 'Are these the right files, saved and mounted? A pipeline begins with CREATE SOURCE.',
  });
}

function parseFile(file: string): ParsedPipeline {
  const text = readText(file);
  return { files: [{ file, text }], ...parsePipeline(text, file) };
}

function isWarning(fault: Fault): boolean {
  return fault.severity === 'warning';
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
