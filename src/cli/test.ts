import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { planPipeline } from '../plan/plan-pipeline.ts';
import { type PipelineCase, readPipelineCase } from '../testing/pipeline/pipeline-case.ts';
import { type CaseReport, runCase, type ScheduleReport } from '../testing/pipeline/run-case.ts';
import { pipelineStarter } from '../testing/pipeline/start-pipeline.ts';
import { expectedName, readCaseFolder } from './case-folder.ts';
import { type Command, type Invocation, usageError } from './command.ts';
import { isModule } from './load-module.ts';
import { loadPipeline } from './load-pipeline.ts';
import { readText } from './read-text.ts';
import { withFiles } from './with-files.ts';

export const test: Command = {
  name: 'test',
  summary: 'run test cases, each under several schedules, and show the difference of rows',
  arguments: 'PATH…',
  example: 'tidemark test cases/ bookings.sql',
  flags: {
    filter: { type: 'string', value: 'TEXT', doc: 'Only cases whose name contains it.' },
    bail: { type: 'boolean', doc: 'Stop at the first case that fails.' },
  },
  usesConfig: false,
  run: async (invocation) => {
    const cases = invocation.positionals.flatMap(readCases);
    if (cases.length === 0) throw noCaseError(invocation.positionals);
    const filter = invocation.text('filter') ?? '';
    const chosen = cases.filter(({ name }) => name.includes(filter));
    if (chosen.length === 0) {
      throw usageError(
        `none of ${cases.length} test cases has "${filter}" in its name`,
        `Their names: ${cases
          .slice(0, 10)
          .map(({ name }) => name)
          .join(', ')}.`,
      );
    }
    const reports: CaseReport[] = [];
    for (const [index, one] of chosen.entries()) {
      const report = await runOne(one);
      reports.push(report);
      show(invocation, report, `${index + 1}/${chosen.length}`);
      if (report.status === 'failed' && invocation.isSet('bail')) break;
    }
    const count = (status: CaseReport['status']): number =>
      reports.filter((report) => report.status === status).length;
    const totals = { passed: count('passed'), failed: count('failed'), skipped: count('skipped') };
    if (invocation.json) invocation.printJson({ ...totals, cases: reports });
    else {
      const { passed, failed, skipped } = totals;
      invocation.terminal.out(`${passed} passed, ${failed} failed, ${skipped} skipped\n`);
    }
    return totals.failed > 0 ? 5 : 0;
  },
};

async function runOne(one: PipelineCase): Promise<CaseReport> {
  const planned =
    one.file === undefined
      ? planPipeline([{ file: `${one.name}.sql`, text: one.sql }], { schemas: one.schemas })
      : await loadPipeline([one.file], { schemas: one.schemas });
  return runCase(one, planned, withFiles(pipelineStarter()));
}

function show({ terminal, json }: Invocation, report: CaseReport, progress: string): void {
  if (terminal.isTerminal) terminal.err(`\r\u001b[K${progress} ${report.name}`);
  if (json) return;
  if (terminal.isTerminal) terminal.err('\r\u001b[K');
  const { name, status, note, schedules } = report;
  if (status === 'skipped') {
    terminal.out(`skipped ${name}: ${note ?? ''}\n`);
  } else if (status === 'failed') {
    terminal.out(`failed  ${name}\n`);
    for (const { named, differences } of failuresOf(schedules)) {
      terminal.out(`  ${named}:\n`);
      for (const line of differences) terminal.out(`    ${line}\n`);
    }
  } else if (note !== undefined) {
    terminal.out(`passed  ${name} (${note})\n`);
  }
}

/** What failed, once each: most faults show under every schedule in the same lines. */
function failuresOf(
  schedules: readonly ScheduleReport[],
): { readonly named: string; readonly differences: readonly string[] }[] {
  const groups = new Map<string, ScheduleReport[]>();
  for (const report of schedules) {
    if (report.status !== 'failed') continue;
    const key = JSON.stringify(report.differences);
    groups.set(key, [...(groups.get(key) ?? []), report]);
  }
  return [...groups.values()].map((group) => {
    const names = group.map(({ schedule }) => schedule).join(', ');
    const isAll = group.length === schedules.length && group.length > 1;
    return {
      named: isAll
        ? `all ${group.length} schedules`
        : `${group.length === 1 ? 'schedule' : 'schedules'} ${names}`,
      differences: group[0]?.differences ?? [],
    };
  });
}

function noCaseError(paths: readonly string[]): Error {
  const lacking = paths
    .filter(isPipelineFile)
    .map((path) => `${path} has no ${expectedName(path)}`)
    .join(', ');
  const form =
    'A case is name.sql (or name.ts) with name.TOPIC.input.jsonl for each topic and name.expected.json, or a line of a .jsonl file.';
  return usageError('no test case is found', lacking === '' ? form : `${lacking}. ${form}`);
}

function isPipelineFile(path: string): boolean {
  return path.endsWith('.sql') || isModule(path);
}

/** A JSON or JSON-lines file of cases, or a folder: of such files, and of `name.sql` and `name.ts` cases. */
function readCases(path: string): PipelineCase[] {
  let isFolder: boolean;
  try {
    isFolder = statSync(path).isDirectory();
  } catch {
    throw usageError(`"${path}" does not exist`);
  }
  if (!isFolder) return isPipelineFile(path) ? readCaseFolder([path]) : readCaseFile(path);
  const names = readdirSync(path).sort();
  const files = names.filter((name) => name.endsWith('.jsonl') || name.endsWith('.case.json'));
  const pipelines = names.filter(isPipelineFile).map((name) => join(path, name));
  // What others have put there holds no cases of one's own.
  const folders = names.filter(
    (name) =>
      name !== 'node_modules' && !name.startsWith('.') && statSync(join(path, name)).isDirectory(),
  );
  return [
    ...files.flatMap((name) =>
      isCaseFile(join(path, name)) ? readCaseFile(join(path, name)) : [],
    ),
    ...readCaseFolder(pipelines),
    ...folders.flatMap((name) => readCases(join(path, name))),
  ];
}

/** Inputs of `name.sql` cases are JSON lines, too: a case has its SQL in it. */
function isCaseFile(path: string): boolean {
  const first = readText(path).trimStart().split('\n', 1)[0] ?? '';
  return first.startsWith('{') && first.includes('"sql"');
}

function readCaseFile(path: string): PipelineCase[] {
  const text = readText(path);
  const texts = path.endsWith('.jsonl') ? text.split('\n').filter((line) => line !== '') : [text];
  return texts.map((one, index) => {
    try {
      return readPipelineCase(one);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      throw usageError(`"${path}", case ${index + 1} cannot be read: ${reason}`);
    }
  });
}
