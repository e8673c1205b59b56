import { defineConfig } from '@playwright/test';
import { enableCodeCache } from './server/cli/compileCache.ts';
import { chromiumLaunchOptions } from './test/support/chromium.ts';

// For processes other than the command line: the demo, `npm start`, the fake Electron.
enableCodeCache();

export default defineConfig({
  testDir: 'test/e2e',
  testMatch: '**/*.spec.ts',
  globalSetup: './test/e2e/support/buildFirst.ts',
  outputDir: 'test-results',
  workers: 2,
  retries: 0,
  // Generous, because a slow machine is not a failure. Tests do not wait longer than necessary.
  timeout: 300_000,
  expect: { timeout: 60_000 },
  forbidOnly: Boolean(process.env.CI),
  reporter: 'list',
  use: {
    browserName: 'chromium',
    launchOptions: chromiumLaunchOptions(),
    // Tracing slows every test, so traces contain DOM snapshots but no screenshots.
    trace: { mode: 'retain-on-failure', screenshots: false },
    screenshot: 'only-on-failure',
    // Animations would be measured half way.
    contextOptions: { reducedMotion: 'reduce' },
  },
});
