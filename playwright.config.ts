import { defineConfig } from '@playwright/test';
import { enableCodeCache } from './server/cli/compileCache.ts';
import { chromiumLaunchOptions } from './test/support/chromium.ts';

// For what is started beside the command line: the demonstration, `npm start`, the stand-in for Electron.
enableCodeCache();

export default defineConfig({
  testDir: 'test/e2e',
  testMatch: '**/*.spec.ts',
  globalSetup: './test/e2e/support/buildFirst.ts',
  outputDir: 'test-results',
  workers: 2,
  retries: 0,
  // Generous: a slow machine is no fault, and what is there is not waited for.
  timeout: 120_000,
  expect: { timeout: 15_000 },
  forbidOnly: Boolean(process.env.CI),
  reporter: 'list',
  use: {
    browserName: 'chromium',
    launchOptions: chromiumLaunchOptions(),
    // What is recorded of every test is paid for by every test: the pages as they were, without a film of them.
    trace: { mode: 'retain-on-failure', screenshots: false },
    screenshot: 'only-on-failure',
    // What moves would be measured half way.
    contextOptions: { reducedMotion: 'reduce' },
  },
});
