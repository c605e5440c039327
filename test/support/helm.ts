import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseAllDocuments } from 'yaml';

export const chart = resolve(import.meta.dirname, '../../helm/tidemark');

/** TEST_HELM names the program; else the one in the path. Undefined: it is not on this machine. */
export function findHelm(): string | undefined {
  const program = process.env['TEST_HELM'] ?? 'helm';
  const { status } = spawnSync(program, ['version', '--short'], { stdio: 'ignore' });
  return status === 0 ? program : undefined;
}

/** TEST_HELM_REQUIRED=1: a machine without helm is a failure. */
export const isHelmRequired = process.env['TEST_HELM_REQUIRED'] === '1';

export type HelmResult = { readonly ok: boolean; readonly out: string; readonly err: string };

export type Values = Readonly<Record<string, unknown>>;

export function runHelm(program: string, args: readonly string[], values: Values): HelmResult {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-helm-'));
  try {
    const file = join(folder, 'values.json');
    writeFileSync(file, JSON.stringify(values));
    const { status, stdout, stderr } = spawnSync(
      program,
      // A helm that was built without a version of Kubernetes takes itself for a very old one.
      [...args, '--kube-version', '1.34.4', '--values', file],
      { encoding: 'utf8', env: { ...process.env, HELM_CACHE_HOME: folder } },
    );
    return { ok: status === 0, out: stdout, err: stderr };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** An object of Kubernetes, as loosely as a test needs it. */
export type KubeObject = {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly [field: string]: unknown;
};

export function parseManifests(text: string): KubeObject[] {
  return parseAllDocuments(text).flatMap((document) => {
    if (document.errors.length > 0) throw new Error(document.errors[0]?.message);
    const object = document.toJS() as KubeObject | null;
    return object === null ? [] : [object];
  });
}
