import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

const root = resolve(import.meta.dirname, '../..');

export type CompilerReport = {
  /** The faulty lines of each program, from 1. */
  readonly lines: ReadonlyMap<string, ReadonlySet<number>>;
  readonly text: string;
};

/** What the compiler says of programs that import the package, by their names; it runs one time for all of them. */
export function compilePrograms(
  folder: string,
  programs: Readonly<Record<string, string>>,
): CompilerReport {
  const files = Object.entries(programs).map(([name, program]) => {
    writeFileSync(join(folder, `${name}.mts`), program);
    return `${name}.mts`;
  });
  writeFileSync(
    join(folder, 'tsconfig.json'),
    JSON.stringify({
      extends: join(root, 'tsconfig.json'),
      compilerOptions: {
        noEmit: true,
        rootDir: '/',
        paths: { tidemark: [join(root, 'src/index.ts')] },
        typeRoots: [join(root, 'node_modules/@types')],
        noUnusedLocals: false,
      },
      include: files,
    }),
  );
  const { stdout } = spawnSync(
    process.execPath,
    [join(root, 'node_modules/typescript/bin/tsc'), '-p', join(folder, 'tsconfig.json')],
    { encoding: 'utf8' },
  );
  const lines = new Map<string, Set<number>>();
  for (const line of stdout.split('\n')) {
    const found = /^(?:.*[/\\])?(\S+?)\.m?ts\((\d+),\d+\): error/.exec(line);
    if (found === null) continue;
    const name = found[1] ?? '';
    lines.set(name, (lines.get(name) ?? new Set()).add(Number(found[2])));
  }
  return { lines, text: stdout };
}
