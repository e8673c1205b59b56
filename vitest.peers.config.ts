import { defineConfig } from 'vitest/config';

/** Compares the node with programs of others: Go, wget, rhash, hashdeep and programs that extract ZIP files. */
export default defineConfig({
  test: {
    name: 'peers',
    environment: 'node',
    globalSetup: ['test/support/requireNode24.ts'],
    pool: 'forks',
    isolate: false,
    testTimeout: 60_000,
    include: ['test/**/*.peer.test.ts'],
  },
});
