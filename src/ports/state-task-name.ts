import type { StateTaskId } from './state-store.ts';

/**
 * The four parts of a task's name as adapters spell it. Invariant: different tasks never get the same parts,
 * and a part holds letters, digits, `-`, `_` and `%` only, so that it can be joined by dots, stand within a
 * hash tag's braces, and be the name of a folder.
 */
export function stateTaskName(task: StateTaskId): readonly [string, string, string, string] {
  return [
    escapeName(task.pipeline),
    escapeName(task.flow),
    String(task.generation),
    String(task.partition),
  ];
}

function escapeName(name: string): string {
  const escaped = encodeURIComponent(name).replaceAll(
    /[.!~*'()]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  // An empty part would vanish in a path.
  return escaped === '' ? '%' : escaped;
}
