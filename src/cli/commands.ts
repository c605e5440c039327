import { checkpoint } from './checkpoint.ts';
import type { Command } from './command.ts';
import { config } from './config.ts';
import { dlq } from './dlq.ts';
import { dump } from './dump.ts';
import { evalCommand } from './eval.ts';
import { explain } from './explain.ts';
import { flows } from './flows.ts';
import { gaps } from './gaps.ts';
import { get } from './get.ts';
import { infer } from './infer.ts';
import { init } from './init.ts';
import { pause } from './pause.ts';
import { plan } from './plan.ts';
import { refresh } from './refresh.ts';
import { resume } from './resume.ts';
import { run } from './run.ts';
import { state } from './state.ts';
import { status } from './status.ts';
import { test } from './test.ts';
import { tryCommand } from './try.ts';
import { validate } from './validate.ts';
import { verify } from './verify.ts';
import { why } from './why.ts';

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
  flows,
  infer,
  pause,
  resume,
  why,
  verify,
  state,
];
