import { globSync } from 'node:fs';
import { basename, resolve } from 'node:path';
import { defineConfig } from 'electron-vite';
import type { Plugin, UserConfig } from 'vite';
import { licences } from './electron/licences.ts';
import renderer from './renderer/vite.config.ts';
import { copyPages } from './server/copies/pages/buildAssets.ts';

const root = import.meta.dirname;

/** electron-vite sets the base to './', which breaks deep links when the node serves the page over HTTP. */
const rootBase: Plugin = {
  name: 'strongroom:root-base',
  enforce: 'post',
  config: (config: UserConfig) => {
    config.base = '/';
  },
};

const workers = Object.fromEntries(
  globSync('server/**/*.worker.ts', { cwd: root }).map((file) => [
    basename(file, '.ts'),
    resolve(root, file),
  ]),
);

export default defineConfig({
  main: {
    plugins: [copyPages(), licences()],
    build: {
      outDir: resolve(root, 'out/main'),
      emptyOutDir: true,
      rolldownOptions: {
        input: { main: resolve(root, 'electron/main.ts'), cli: resolve(root, 'server/cli.ts'), ...workers },
        // One folder for everything, because a worker's URL is relative to the file that starts it.
        output: { format: 'es', entryFileNames: '[name].js', chunkFileNames: '[name]-[hash].js' },
      },
    },
  },
  preload: {
    build: {
      outDir: resolve(root, 'out/preload'),
      emptyOutDir: true,
      // A sandboxed preload must be one CommonJS file.
      externalizeDeps: false,
      rolldownOptions: {
        input: { preload: resolve(root, 'electron/preload.ts') },
        output: { format: 'cjs', entryFileNames: '[name].cjs' },
      },
    },
  },
  renderer: { ...renderer, plugins: [renderer.plugins, rootBase, licences()] },
});
