import { expect, test } from 'vitest';
import { topicsText, verdictText } from '../../../src/cli/plan-text.ts';

test('FL-16 plan does not say of a once flow that is done that it goes on', () => {
  expect(verdictText({ status: 'unchanged', done: true })).toBe(
    'unchanged: it ran once and is done, and reads nothing more',
  );
  expect(verdictText({ status: 'compatible', done: true })).toContain('reads nothing more');
  expect(verdictText({ status: 'unchanged' })).toBe('unchanged: it goes on from its checkpoint');
});

test('FR-11 while sources are missing plan does not say that no topic is to be created', () => {
  expect(topicsText([])).toBe(
    'which topics are to be created can be told once all source topics are there',
  );
  expect(topicsText([{ action: 'create' }, { action: 'keep' }, { action: 'keep' }])).toBe(
    '1 topic to create, 2 there already',
  );
});
