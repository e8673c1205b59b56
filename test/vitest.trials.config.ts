import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import unit from './vitest.config.ts';

const { platform } = process;
const isRoot = process.getuid?.() === 0;
/** Mounting a disk and creating a network namespace need root on Linux. */
const PRIVILEGED = [
  'test/netns/*',
  'test/damage/fullDisk.trial.test.ts',
  'test/damage/vanishedDisk.trial.test.ts',
];
/** Windows has no signals to end npm with, and does not sync folders. */
const ON_UNIX = ['test/cli/checkout.trial.test.ts', 'test/damage/failingDisk.trial.test.ts'];

/**
 * What takes minutes by nature: nodes that are killed again and again, disks that fail, namespaces, a real object store,
 * a checkout that npm starts, and comparisons with programs of others. The other options are those of the unit tests.
 */
export default defineConfig({
  test: {
    ...unit.test,
    root: '.',
    name: 'trials',
    // A trial takes minutes by nature, more beside another one. This ends one that waits in vain.
    testTimeout: 600_000,
    hookTimeout: 600_000,
    // Trials wait for disks, processes and browsers a third of their time.
    maxWorkers: Math.ceil(1.5 * availableParallelism()),
    globalSetup: [
      'test/support/requireNode24.ts',
      'test/support/buildWorkers.ts',
      'test/support/setUpTrials.ts',
    ],
    include: ['test/**/*.trial.test.ts', 'test/**/*.peer.test.ts'],
    exclude: [
      ...(platform === 'linux' && isRoot ? [] : PRIVILEGED),
      ...(platform === 'win32' ? ON_UNIX : []),
    ],
  },
});
