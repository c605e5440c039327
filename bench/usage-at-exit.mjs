// Loaded into the measured process (node --import): writes what it used to the file that BENCH_USAGE_FILE names.
import { readFileSync, writeFileSync } from 'node:fs';
import { PerformanceObserver } from 'node:perf_hooks';

const path = process.env.BENCH_USAGE_FILE;

/** High-water mark of this image; getrusage would also count the process that started it. */
function peakRssKb() {
  try {
    return Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync('/proc/self/status', 'utf8'))?.[1]);
  } catch {
    return process.resourceUsage().maxRSS;
  }
}

if (path !== undefined) {
  let longestGcMs = 0;
  new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) longestGcMs = Math.max(longestGcMs, duration);
  }).observe({ entryTypes: ['gc'] });
  process.on('exit', () => {
    const { user, system } = process.cpuUsage();
    writeFileSync(
      path,
      JSON.stringify({ cpuMicros: user + system, peakRssKb: peakRssKb(), longestGcMs }),
    );
  });
}
