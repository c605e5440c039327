import { existsSync, readdirSync } from 'node:fs';
import { basename, dirname, extname, join } from 'node:path';
import { parseExactJson } from '../testing/pipeline/exact-json.ts';
import { type PipelineCase, pipelineCaseOf } from '../testing/pipeline/pipeline-case.ts';
import { usageError } from './command.ts';
import { isModule } from './load-module.ts';
import { readText } from './read-text.ts';

/**
 * Cases as files of their own: `name.sql` (or a module such as `name.ts`), `name.TOPIC.input.jsonl` for each topic, and `name.expected.json` with
 * the members of a case that say what must come out (`target`, `schema`, `expected`, `expectations`, `error`). Records that
 * stand in files of other names are named there: `inputFiles`, a file beside it for each topic.
 */
export function readCaseFolder(pipelines: readonly string[]): PipelineCase[] {
  return pipelines.flatMap((path) => {
    const name = basename(path, extname(path));
    const folder = dirname(path);
    const expected = join(folder, expectedName(path));
    const files = readdirSync(folder).filter(
      (file) => file.startsWith(`${name}.`) && file.endsWith('.input.jsonl'),
    );
    if (!existsSync(expected)) {
      if (files.length === 0 || pipelines.some((other) => isLonger(other, path))) return [];
      throw usageError(
        `"${path}" has ${files.join(', ')}, but no ${expectedName(path)}`,
        `Write what must come out: {"target": "table", "schema": [["column", "TYPE"], …], "expected": [[value, …], …]}.`,
      );
    }
    const inputs: Record<string, string[]> = {};
    const fileNames = new Map<string, string>();
    const take = (topic: string, file: string): void => {
      const lines = readText(join(folder, file)).split('\n');
      fileNames.set(topic, file);
      inputs[topic] = [...(inputs[topic] ?? []), ...lines.filter((line) => line !== '')];
    };
    for (const file of files.sort()) {
      take(file.slice(name.length + 1, -'.input.jsonl'.length), file);
    }
    try {
      const rest = parseExactJson(readText(expected)) as Record<string, unknown>;
      const { inputFiles = {} } = rest as { inputFiles?: Readonly<Record<string, string>> };
      for (const [topic, file] of Object.entries(inputFiles)) take(topic, file);
      const own = isModule(path) ? { sql: '', file: path } : { sql: readText(path) };
      return [{ ...pipelineCaseOf({ name, ...own, inputs, ...rest }), inputFiles: fileNames }];
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      throw usageError(`case "${name}" in "${folder}" cannot be read: ${reason}`);
    }
  });
}

/** The file that makes a case of a pipeline's file. */
export function expectedName(path: string): string {
  return `${basename(path, extname(path))}.expected.json`;
}

/** Whether inputs that seem to be of `path` may be those of another pipeline, as of `a.b.sql` beside `a.sql`. */
function isLonger(other: string, path: string): boolean {
  return other !== path && basename(other).startsWith(`${basename(path, extname(path))}.`);
}
