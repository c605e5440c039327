// Loaded into a measured process: adds to the file that BENCH_THREADS_FILE names what each of its threads used. The first is the
// main thread, the next five are the engine's (one waits for timers, four compile and collect), then come those of files and sockets.
import { appendFileSync, readdirSync, readFileSync } from 'node:fs';

/** Of the kernel's clock that /proc tells times in. */
const msPerTick = 10;

if (process.env.BENCH_THREADS_FILE !== undefined) {
  process.on('exit', () => {
    const used = readdirSync('/proc/self/task')
      .map(Number)
      .sort((one, other) => one - other)
      .map((thread) => {
        const text = readFileSync(`/proc/self/task/${thread}/stat`, 'utf8');
        const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
        return (Number(fields[11]) + Number(fields[12])) * msPerTick;
      });
    appendFileSync(process.env.BENCH_THREADS_FILE, `CPU of the threads in ms: ${used.join(' ')}\n`);
  });
}
