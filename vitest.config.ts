import { defineConfig } from 'vitest/config';
import { keepCompiledCode } from './server/cli/compileCache.ts';

// Threads and processes that the tests start read their code compiled, as those of the command line do.
keepCompiledCode();

export default defineConfig({
  test: {
    environment: 'node',
    include: ['test/**/*.test.ts', 'test/**/*.test.tsx'],
    exclude: ['test/e2e/**', 'test/bench/**'],
    globalSetup: ['test/support/requireNode24.ts'],
    pool: 'forks',
    // Nothing is done at import time, so files may share a process: five times faster than one each.
    isolate: false,
    testTimeout: 20_000,
    hookTimeout: 20_000,
    passWithNoTests: false,
  },
});
