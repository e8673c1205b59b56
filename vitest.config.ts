import { defineConfig } from 'vitest/config';
import { enableCodeCache } from './server/cli/compileCache.ts';

// Threads and processes that the tests start read their code compiled, as those of the command line do.
enableCodeCache();

/** What measures how soon a node answers while it works hard: nothing else may run beside it. */
const MEASURED = ['test/**/hostile.test.ts', 'test/netns/*.test.ts'];
const BROWSER_AND_BENCH = ['test/e2e/**', 'test/bench/**'];

export default defineConfig({
  test: {
    environment: 'node',
    globalSetup: ['test/support/requireNode24.ts'],
    pool: 'forks',
    // Nothing is done at import time, so files may share a process: five times faster than one each.
    isolate: false,
    testTimeout: 20_000,
    hookTimeout: 20_000,
    passWithNoTests: false,
    projects: [
      {
        extends: true,
        test: {
          name: 'together',
          include: ['test/**/*.test.ts', 'test/**/*.test.tsx'],
          exclude: [...BROWSER_AND_BENCH, ...MEASURED],
          // Much of what they do is waiting: for disks, for processes, for work that others go before.
          maxWorkers: '100%',
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: { name: 'alone', include: MEASURED, maxWorkers: 1, sequence: { groupOrder: 1 } },
      },
    ],
  },
});
