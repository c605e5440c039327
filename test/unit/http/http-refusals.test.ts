import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { problemDocument } from '../../../src/adapters/http/http-problem.ts';
import { FlowError } from '../../../src/base/errors.ts';

test.each([
  ['USAGE', 400, '`USAGE` with 400'],
  ['TOPIC_MISSING', 404, '`TOPIC_MISSING` with 404'],
  ['DATA_LOSS_REFUSED', 409, '`DATA_LOSS_REFUSED`, `GROUP_BUSY` and `TABLE_LOCKED` with 409'],
  ['GROUP_BUSY', 409, '`DATA_LOSS_REFUSED`, `GROUP_BUSY` and `TABLE_LOCKED` with 409'],
  ['TABLE_LOCKED', 409, '`DATA_LOSS_REFUSED`, `GROUP_BUSY` and `TABLE_LOCKED` with 409'],
  ['DEFINITION_CHANGED', 500, '`DEFINITION_CHANGED` and `NOT_SUPPORTED` with 500'],
  ['NOT_SUPPORTED', 500, '`DEFINITION_CHANGED` and `NOT_SUPPORTED` with 500'],
] as const)(
  'a refresh that is refused with %s is answered with %i, as operations.md says',
  (code, status, text) => {
    expect(problemDocument(new FlowError(code, 'it is refused')).status).toBe(status);
    const page = readFileSync('docs/operations.md', 'utf8').replaceAll(/\s+/g, ' ');
    expect(page).toContain(text);
  },
);
