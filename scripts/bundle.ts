import { readdirSync, rmSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { build } from 'esbuild';

const root = resolve(import.meta.dirname, '..');
const folder = join(root, 'dist');

/**
 * Packs the program into a few files: to find, read and link several hundred modules took half of the processor time that it
 * needs to start. Packages stay outside, so that they can be looked at, patched and counted as what they are; some of them hold
 * native code. Invariant: afterwards the folder has no code but that of this build.
 */
async function bundle(): Promise<void> {
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: ['src/main.ts', 'src/index.ts'],
    outdir: 'dist',
    bundle: true,
    // What both entry points use is there once: a pipeline module and the program share their classes. All in one folder, by
    // which the code of the product is told from that of a module.
    splitting: true,
    chunkNames: '[name]-[hash]',
    format: 'esm',
    platform: 'node',
    target: 'node20',
    packages: 'external',
    sourcemap: true,
    sourcesContent: false,
    metafile: true,
    logLevel: 'warning',
  });
  const written = new Set(Object.keys(metafile.outputs).map((path) => resolve(root, path)));
  for (const path of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    const isCode = /\.js(\.map)?$/.test(path) && !path.startsWith('coverage');
    const file = join(folder, path);
    if (isCode && !written.has(file)) rmSync(file);
  }
  const files = [...written].filter((file) => file.endsWith('.js'));
  process.stdout.write(`${files.map((file) => relative(root, file)).join(' ')}\n`);
}

await bundle();
