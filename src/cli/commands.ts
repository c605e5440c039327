import { checkpoint } from './checkpoint.ts';
import type { Command } from './command.ts';
import { config } from './config.ts';
import { dlq } from './dlq.ts';
import { dump } from './dump.ts';
import { evalCommand } from './eval.ts';
import { explain } from './explain.ts';
import { gaps } from './gaps.ts';
import { get } from './get.ts';
import { init } from './init.ts';
import { plan } from './plan.ts';
import { refresh } from './refresh.ts';
import { run } from './run.ts';
import { status } from './status.ts';
import { test } from './test.ts';
import { tryCommand } from './try.ts';
import { validate } from './validate.ts';

export const commands: readonly Command[] = [
  init,
  validate,
  explain,
  evalCommand,
  tryCommand,
  test,
  run,
  status,
  get,
  dump,
  config,
  gaps,
  refresh,
  plan,
  checkpoint,
  dlq,
];

/** Verbs of the interface that are not built yet: they say so and exit non-zero. */
export const plannedVerbs: readonly string[] = [
  'flows',
  'why',
  'verify',
  'state',
  'infer',
  'pause',
  'resume',
];
