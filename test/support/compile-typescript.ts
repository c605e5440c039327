import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

const root = resolve(import.meta.dirname, '../..');

export type CompilerReport = {
  /** 0: an error elsewhere. */
  readonly lines: ReadonlySet<number>;
  readonly text: string;
};

/** What the compiler says of a program that imports the package: the faulty lines, from 1, and all of its words. */
export function compileProgram(folder: string, program: string): CompilerReport {
  writeFileSync(join(folder, 'program.mts'), program);
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
      include: ['program.mts'],
    }),
  );
  const { stdout } = spawnSync(
    process.execPath,
    [join(root, 'node_modules/typescript/bin/tsc'), '-p', join(folder, 'tsconfig.json')],
    { encoding: 'utf8' },
  );
  const lines = stdout.split('\n').flatMap((line) => {
    const found = /^(?:.*[/\\])?(\S+?)\((\d+),\d+\): error/.exec(line);
    if (found === null) return [];
    return [found[1] === 'program.mts' ? Number(found[2]) : 0];
  });
  return { lines: new Set(lines), text: stdout };
}
