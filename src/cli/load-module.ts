import { extname, resolve } from 'node:path';
import { FlowError } from '../base/errors.ts';
import { type Fault, FaultError, type Place } from '../base/place.ts';
import type { PipelineDefinition } from '../index.ts';
import type { ParsedPipeline } from '../plan/plan-pipeline.ts';
import { usageError } from './command.ts';
import { readText } from './read-text.ts';

const moduleEndings: readonly string[] = ['.ts', '.mts', '.js', '.mjs'];

export function isModule(path: string): boolean {
  return moduleEndings.includes(extname(path));
}

/** The statements of a module, and where its faults stand in its own text. */
export type ModulePipeline = ParsedPipeline & {
  /** The fault with its place in the file of the module, where it is about this module. */
  readonly place: (fault: Fault) => Fault;
};

/**
 * Runs a module whose default export is a pipeline. Types are taken off on the way, never checked: that is the compiler's
 * work. Invariant: `tidemark` is this very package wherever the module lies, also where nothing is installed beside it.
 */
export async function loadModule(path: string): Promise<ModulePipeline> {
  const text = readText(path);
  const absolute = resolve(path);
  const [{ createJiti }, own] = await Promise.all([import('jiti'), import('../index.ts')]);
  const jiti = createJiti(absolute, {
    fsCache: false,
    moduleCache: false,
    interopDefault: false,
    virtualModules: { tidemark: own },
  });
  const module = { path, absolute, text };
  try {
    const exported = await jiti.import<unknown>(absolute);
    const found = (exported as { readonly default?: unknown } | undefined)?.default;
    if (!(found instanceof own.Pipeline)) {
      throw usageError(
        `"${path}" exports no pipeline`,
        'End it with "export default" and what pipeline() gave.',
      );
    }
    // Functions of the module run here as well.
    return placed(found.definition(), module);
  } catch (cause) {
    if (!(cause instanceof FaultError)) throw failed(path, absolute, cause);
    return placed({ files: [], statements: [], faults: [cause.fault] }, module);
  }
}

type Piece = PipelineDefinition['files'][number];

type Module = { readonly path: string; readonly absolute: string; readonly text: string };

function placed(definition: PipelineDefinition, module: Module): ModulePipeline {
  const pieces = new Map(definition.files.map((piece) => [piece.file, piece]));
  return {
    ...definition,
    files: [{ file: module.path, text: module.text }, ...definition.files],
    place: (fault) => {
      const piece = pieces.get(fault.place.file);
      if (piece === undefined) {
        return fault.place.file === module.absolute ? moved(fault, module) : fault;
      }
      const { start, end } = fault.place;
      const at = offsetIn(piece, start, module);
      if (at === undefined) return fault;
      return { ...fault, place: placeAt(module, at, at + end - start) };
    },
  };
}

/** Where text stands in the module as it was read: below the call that was given it, or where it was made before. */
function offsetIn(piece: Piece, offset: number, module: Module): number | undefined {
  const { within, behind = '', parts = [{ text: piece.text, at: 0 }] } = piece;
  const line = within.file === module.absolute ? within.line : 1;
  for (const start of [offsetOfLine(module.text, line), 0]) {
    let end = module.text.indexOf(behind, start) + behind.length;
    if (end < behind.length) continue;
    let found: number | undefined;
    for (const { text, at } of parts) {
      const place = module.text.indexOf(text, end);
      if (place < 0) break;
      end = place + text.length;
      if (offset >= at && offset <= at + text.length) found ??= place + offset - at;
      if (at === parts.at(-1)?.at && found !== undefined) return found;
    }
  }
  return undefined;
}

/**
 * Places of calls have a line and a column only; the column is that of the text that runs, which may be longer than what
 * was written.
 */
function moved(fault: Fault, { path, text }: Module): Fault {
  const line = offsetOfLine(text, fault.place.line);
  const end = text.indexOf('\n', line);
  const length = (end < 0 ? text.length : end) - line;
  const column = Math.max(1, Math.min(fault.place.column, length));
  const start = line + column - 1;
  return { ...fault, place: { ...fault.place, file: path, start, end: start + 1, column } };
}

function offsetOfLine(text: string, line: number): number {
  let offset = 0;
  for (let at = 1; at < line; at += 1) {
    const next = text.indexOf('\n', offset);
    if (next < 0) return 0;
    offset = next + 1;
  }
  return offset;
}

function placeAt({ path, text }: Module, start: number, end: number): Place {
  const before = text.slice(0, start);
  const line = before.split('\n').length;
  return { file: path, start, end, line, column: start - before.lastIndexOf('\n') };
}

function failed(path: string, absolute: string, cause: unknown): FlowError {
  if (cause instanceof FlowError) return cause;
  const error = cause instanceof Error ? cause : new Error(String(cause));
  const at = error.stack?.split('\n').find((line) => line.includes(absolute));
  const place = /:(\d+):(\d+)\)?$/u.exec(at ?? '');
  const where = place === null ? path : `${path}:${place[1]}:${place[2]}`;
  return new FlowError('PIPELINE_INVALID', `${where}: the module failed`, {
    detail: `${error.name}: ${error.message}`,
    hint: 'A pipeline module runs once, when it is loaded; correct what it throws.',
    cause,
  });
}
