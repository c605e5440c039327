import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Fault } from '../../../src/base/place.ts';
import { planPipeline } from '../../../src/plan/plan-pipeline.ts';

/**
 * Golden files: what is wrong with a pipeline stands as a comment under the line, the caret at the
 * column (`-- @1 CODE` where the dashes are in the way), with `warning` before the code of a warning.
 */
const sources = {
  file: 'sources.sql',
  text: readFileSync(join(import.meta.dirname, 'sources.sql'), 'utf8'),
};

const marker = /^--(?:(\s*)\^| @(\d+)) ((?:warning )?[A-Z][A-Z_.]+)$/u;

function expectedFaults(text: string): string[] {
  const found: string[] = [];
  let line = 0;
  for (const [i, content] of text.split('\n').entries()) {
    const match = marker.exec(content);
    if (match === null) line = i + 1;
    else found.push(`${line}:${match[2] ?? (match[1] ?? '').length + 3} ${match[3]}`);
  }
  return found;
}

function told({ severity, code, place }: Fault): string {
  return `${place.line}:${place.column} ${severity === 'warning' ? 'warning ' : ''}${code}`;
}

function cases(folder: string) {
  const path = join(import.meta.dirname, folder);
  return readdirSync(path)
    .sort()
    .map((file) => {
      const text = readFileSync(join(path, file), 'utf8');
      const title = text.split('\n', 1)[0]?.replace(/^-- /u, '') ?? file;
      return { name: `${title} (${file})`, file, text };
    });
}

describe('faults of pipelines', () => {
  test.each(cases('faults'))('$name', ({ file, text }) => {
    const { plan, faults } = planPipeline([sources, { file, text }]);
    expect(faults.map(told).sort()).toEqual(expectedFaults(text).sort());
    expect(plan).toBeUndefined();
    for (const fault of faults) {
      expect(fault.place.file).toBe(file);
      expect(fault.message).toMatch(/^[^A-Z](.*[^.])?$|^[A-Z_]{2,}/u);
    }
  });
});

describe('pipelines without faults', () => {
  test.each(cases('accepted'))('$name', ({ file, text }) => {
    const { plan, faults } = planPipeline([sources, { file, text }]);
    expect(faults.map(told).sort()).toEqual(expectedFaults(text).sort());
    expect(plan?.warnings).toEqual(faults);
  });
});
