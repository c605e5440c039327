import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { optionDeclarations } from '../../../src/config/options.ts';

const folder = resolve(import.meta.dirname, '../../../deploy/manifests');

type Container = { readonly image: string; readonly args: readonly string[] };

type Pod = {
  readonly restartPolicy?: string;
  readonly containers: readonly (Container & { readonly volumeMounts: readonly object[] })[];
  readonly volumes: readonly object[];
};

type Manifest = {
  readonly kind: string;
  readonly spec: {
    readonly concurrencyPolicy?: string;
    readonly template: { readonly spec: Pod };
    readonly jobTemplate: { readonly spec: { readonly template: { readonly spec: Pod } } };
  };
};

const service = parseAllDocuments(readFileSync(resolve(folder, 'tidemark.yaml'), 'utf8'))
  .map((document) => document.toJS() as Manifest | null)
  .find((one) => one?.kind === 'StatefulSet');

const job = parse(readFileSync(resolve(folder, 'update-cronjob.yaml'), 'utf8')) as Manifest;

test('FL-06 a CronJob runs the service as updates that end, with its configuration and one at a time', () => {
  const pod = job.spec.jobTemplate.spec.template.spec;
  const [container] = pod.containers;
  const lasting = service?.spec.template.spec;
  expect(container?.args.slice(0, 2)).toEqual(['run', '--once']);
  expect(lasting?.containers[0]?.args).toEqual(['run']);
  expect(job.spec.concurrencyPolicy).toBe('Forbid');
  expect(pod.restartPolicy).toBe('Never');
  expect(container?.image).toBe(lasting?.containers[0]?.image);
  expect(container?.volumeMounts).toEqual(lasting?.containers[0]?.volumeMounts);
  expect(pod.volumes).toEqual(lasting?.volumes);
  const options = optionDeclarations.map(({ name }) => `--${name}`);
  const given = container?.args.slice(2).filter((one) => one.startsWith('--')) ?? [];
  expect(given).toEqual(['--instance.name', '--group.static', '--http.enabled']);
  expect(options).toEqual(expect.arrayContaining(given));
});
