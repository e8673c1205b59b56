import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import { defineConfig } from '@playwright/test';
import { headlessLaunchOptions } from './support/chromium.ts';

// Processes started by tests run from the sources: they keep what Node compiles.
process.env.NODE_COMPILE_CACHE ??= resolve(import.meta.dirname, '../node_modules/.cache/strongroom');

/** `npm run trials` runs these files, and of the others the tests of what seldom happens. */
const TRIALS = /\.trial\.spec\.ts|@trial/;

export default defineConfig({
  testDir: 'e2e',
  testMatch: '**/*.spec.ts',
  projects: [
    { name: 'specs', grepInvert: TRIALS },
    { name: 'trials', grep: TRIALS },
  ],
  globalSetup: './e2e/support/buildFirst.ts',
  outputDir: '../test-results',
  // Tests spend half of their time waiting for pages and nodes.
  workers: 2 * availableParallelism(),
  // Chromium loses an input event now and then. A spec that passes only the second time is printed as flaky.
  retries: process.env.CI ? 1 : 0,
  // Generous, because a slow machine is not a failure. Tests do not wait longer than necessary.
  timeout: 300_000,
  expect: { timeout: 60_000 },
  forbidOnly: Boolean(process.env.CI),
  reporter: 'list',
  use: {
    browserName: 'chromium',
    launchOptions: await headlessLaunchOptions(),
    // Tracing takes a third of the processor time of a test. `npm run e2e -- NAME --trace on` shows why one fails.
    trace: 'off',
    screenshot: 'only-on-failure',
    // Animations would be measured half way.
    contextOptions: { reducedMotion: 'reduce' },
  },
});
