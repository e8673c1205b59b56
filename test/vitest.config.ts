import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import { defineConfig } from 'vitest/config';
import { LongestFirst } from './support/longestFirst.ts';
import { EVENTUALLY_MS } from './support/patience.ts';

// Processes started by tests run from the sources: they keep what Node compiles.
process.env.NODE_COMPILE_CACHE ??= resolve(import.meta.dirname, '../node_modules/.cache/strongroom');

const BROWSER_AND_BENCH = ['test/e2e/**', 'test/bench/**'];
/** `npm run trials` runs what takes minutes by nature, and what needs programs of others. */
const TRIALS = ['test/**/*.trial.test.ts', 'test/**/*.peer.test.ts'];
/** Other systems respond at only one loopback address. */
const ON_LINUX = process.platform === 'linux' ? [] : ['test/http/security/listeners.test.ts'];

export default defineConfig({
  test: {
    environment: 'node',
    globalSetup: ['test/support/requireNode24.ts', 'test/support/buildWorkers.ts'],
    pool: 'forks',
    // Every node that opens and closes frees memory outside the heap, and each time V8 would mark the whole heap step by
    // step. Without the steps a run takes a tenth less of the processor's time.
    execArgv: ['--no-incremental-marking'],
    // Modules have no side effects on import, so test files can share a process. This is five times as fast.
    isolate: false,
    setupFiles: ['test/support/restoreGlobals.ts'],
    // A slow or busy machine is not a failure, so nothing is measured by these. They end a test that waits in vain.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: EVENTUALLY_MS } },
    passWithNoTests: false,
    include: ['test/**/*.test.ts', 'test/**/*.test.tsx'],
    exclude: [...BROWSER_AND_BENCH, ...TRIALS, ...ON_LINUX],
    // Tests spend half of their time waiting for disks, timers and processes.
    maxWorkers: 2 * availableParallelism(),
    sequence: { sequencer: LongestFirst },
  },
});
