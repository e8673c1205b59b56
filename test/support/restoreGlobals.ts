import { afterEach, vi } from 'vitest';

/**
 * Restores what a test replaced in its process, because test files share a process. Runs after the file's own hooks,
 * which may need the replacements.
 */
const environment = { ...process.env };

afterEach(() => {
  // A spy on a timer is removed first, because it would put the fake timer back.
  vi.restoreAllMocks();
  vi.useRealTimers();
  for (const name of Object.keys(process.env)) if (!(name in environment)) delete process.env[name];
  Object.assign(process.env, environment);
});
