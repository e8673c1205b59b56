import { defineConfig } from 'vitest/config';
import unit from './vitest.config.ts';

/**
 * Compares the node with programs of others: Go, wget, rhash, hashdeep and programs that extract ZIP files. The other
 * options are those of the unit tests.
 */
export default defineConfig({
  test: {
    ...unit.test,
    name: 'peers',
    include: ['test/**/*.peer.test.ts'],
    exclude: [],
  },
});
