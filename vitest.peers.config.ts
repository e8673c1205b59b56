import { defineConfig } from 'vitest/config';
import unit from './vitest.config.ts';

/**
 * Compares the node with programs of others: Go, wget, rhash, hashdeep and programs that extract ZIP files. All else is as
 * for the other tests, which are as patient.
 */
export default defineConfig({
  test: {
    ...unit.test,
    name: 'peers',
    include: ['test/**/*.peer.test.ts'],
    exclude: [],
  },
});
