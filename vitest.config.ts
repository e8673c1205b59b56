import { defineConfig } from 'vitest/config';
import { enableCodeCache } from './server/cli/compileCache.ts';

// Threads and processes started by tests use the compile cache, as the command line does.
enableCodeCache();

/** Tests that measure response times under load. They run alone. */
const MEASURED = ['test/**/hostile.test.ts', 'test/netns/*.test.ts'];
const BROWSER_AND_BENCH = ['test/e2e/**', 'test/bench/**'];

export default defineConfig({
  test: {
    environment: 'node',
    globalSetup: ['test/support/requireNode24.ts'],
    pool: 'forks',
    // Modules have no side effects on import, so test files can share a process. This is five times as fast.
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
          // Tests spend much of their time waiting for disks and processes.
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
