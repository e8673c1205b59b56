import { defineConfig } from 'vitest/config';
import { enableCodeCache } from './server/cli/compileCache.ts';
import { LongestFirst } from './test/support/longestFirst.ts';
import { EVENTUALLY_MS } from './test/support/patience.ts';

// Threads and processes started by tests use the compile cache, as the command line does.
enableCodeCache();

const BROWSER_AND_BENCH = ['test/e2e/**', 'test/bench/**'];
/** Tests that need programs besides Node and Python. `npm run peers` runs them. */
const PEERS = ['test/**/*.peer.test.ts'];
const isLinux = process.platform === 'linux';
/** Mounting a disk and creating a network namespace need root on Linux. */
const PRIVILEGED = ['test/netns/*.test.ts', 'test/damage/fullDisk.test.ts'];
/** Other systems respond at only one loopback address. */
const ON_LINUX = ['test/http/security/listeners.test.ts'];
/** Windows has no signals to end npm with, and does not sync folders. */
const ON_UNIX = ['test/cli/checkout.test.ts', 'test/damage/failingDisk.test.ts'];
const NOT_HERE = [
  ...PEERS,
  ...(isLinux && process.getuid?.() === 0 ? [] : PRIVILEGED),
  ...(isLinux ? [] : ON_LINUX),
  ...(process.platform === 'win32' ? ON_UNIX : []),
];

export default defineConfig({
  test: {
    environment: 'node',
    globalSetup: ['test/support/requireNode24.ts'],
    pool: 'forks',
    // Modules have no side effects on import, so test files can share a process. This is five times as fast.
    isolate: false,
    setupFiles: ['test/support/restoreGlobals.ts'],
    // A slow or busy machine is not a failure, so nothing is measured by these. They end a test that waits in vain.
    testTimeout: 240_000,
    hookTimeout: 240_000,
    expect: { poll: { timeout: EVENTUALLY_MS } },
    passWithNoTests: false,
    include: ['test/**/*.test.ts', 'test/**/*.test.tsx'],
    exclude: [...BROWSER_AND_BENCH, ...NOT_HERE],
    // Tests spend much of their time waiting for disks and processes.
    maxWorkers: '100%',
    sequence: { sequencer: LongestFirst },
  },
});
