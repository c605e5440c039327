// What an installation or an upgrade has to pass before anything is changed. Needs no shell in the image.
import { spawnSync } from 'node:child_process';

const main = process.env.TIDEMARK_MAIN ?? '/opt/tidemark/dist/main.js';
const plan = process.env.GATE_PLAN ?? 'auto';
const refresh = JSON.parse(process.env.GATE_REFRESH ?? '[]');
const runRefuses = 1;
const dataWouldBeLost = 4;
// Brokers that come up with the release are waited for; the job's deadline ends it.
const patience = ['--retry.start-timeout-ms', process.env.GATE_START_TIMEOUT_MS ?? '60000'];

function run(args, stdio = 'inherit') {
  const { status, error } = spawnSync(process.execPath, [main, ...args], { stdio });
  if (error !== undefined) throw error;
  return status ?? 1;
}

function end(code, text) {
  console.error(text);
  process.exit(code);
}

const valid = run(['validate']);
if (valid !== 0) end(valid, 'refused: the pipeline is not valid; nothing was changed');
if (plan === 'never') end(0, 'the pipeline is valid');
if (run(['plan', '--help'], 'ignore') !== 0) {
  if (plan === 'required') end(1, 'refused: this image cannot plan, and gate.plan is "required"');
  end(0, 'the pipeline is valid; this image cannot plan, so what the change would lose was not looked at');
}
const asked = ['plan', '--effect', ...patience];
let planned = run(asked);
const mayHelp = planned === runRefuses || planned === dataWouldBeLost;
if (refresh.length > 0 && mayHelp) {
  console.error(`tidemark refresh ${refresh.join(' ')}, as gate.refresh says:`);
  const refreshed = run(['refresh', ...refresh]);
  if (refreshed !== 0) {
    end(refreshed, 'refused: the refresh has not come to its end; the release was not changed. One that was cut short goes on with the same upgrade');
  }
  planned = run(asked);
}
if (planned === dataWouldBeLost) {
  end(planned, 'refused: a refresh is needed, and would lose data; nothing was changed. gate.refresh has it made, with what it may lose or keeps');
}
if (planned !== 0) {
  end(planned, 'refused: run would fail as plan says; nothing was changed. A refresh that is needed is made by gate.refresh; gate.plan=never does not ask');
}
end(0, 'the pipeline is valid, and the change can be made');
