import { execFile } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const RUN = fileURLToPath(new URL('run.ts', import.meta.url));
const BENCHES = readdirSync(import.meta.dirname)
  .filter((name) => name.endsWith('.bench.ts'))
  .map((name) => name.replace('.bench.ts', ''));

test.each(BENCHES)('the bench “%s” runs, with the least that it can measure', async (name) => {
  const { stdout } = await promisify(execFile)(process.execPath, [RUN, name], {
    env: { ...process.env, STRONGROOM_BENCH_SHARE: '0' },
  });
  // A bench without the programs of others that it is measured against says which are missing.
  expect(stdout).toMatch(new RegExp(`^${name}: (.+\\n  .+ \\| target |skipped)`, 'm'));
});
