import fc from 'fast-check';

/**
 * The texts that the fuzz tests of SQL draw: the same ones in every run, so that a run says something of the change that it is made for. Whoever
 * hunts sets another seed: `FUZZ_SEED=$RANDOM npx vitest run --config test/vitest.config.ts test/unit/sql/robustness.test.ts`.
 */
export function drawFromFuzzSeed(): void {
  fc.configureGlobal({ seed: Number(process.env['FUZZ_SEED'] ?? 20_261_130) });
}
