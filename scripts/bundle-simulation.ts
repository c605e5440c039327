import { build } from 'esbuild';

/**
 * V8 settings of a process that simulates. Worlds are many and short-lived: a wide nursery, and no helper threads, which cost
 * more than they save here.
 */
export const simulatingFlags = ['--max-semi-space-size=64', '--single-threaded-gc'];

/**
 * Packs a script that simulates into one file, `target`: translated module by module, every function that is made at run time
 * is given its name anew, which took a sixth of the time of a world. Invariant: packages stay outside, so the file has to lie
 * where they are found.
 */
export async function bundleSimulation(script: string, target: string): Promise<void> {
  await build({
    entryPoints: [script],
    outfile: target,
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    packages: 'external',
    logLevel: 'warning',
  });
}
