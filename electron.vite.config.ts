import { existsSync, globSync } from 'node:fs';
import { basename, resolve } from 'node:path';
import { defineConfig } from 'electron-vite';
import type { Plugin, UserConfig } from 'vite';
import renderer from './vite.config.ts';

const root = import.meta.dirname;

/** electron-vite forces './', which breaks deep links when the node serves the page over HTTP. */
const rootBase: Plugin = {
  name: 'strongroom:root-base',
  enforce: 'post',
  config: (config: UserConfig) => {
    config.base = '/';
  },
};

const workers = Object.fromEntries(
  globSync('server/workers/*.worker.ts', { cwd: root }).map((file) => [
    basename(file, '.ts'),
    resolve(root, file),
  ]),
);

const inputs = {
  main: { main: resolve(root, 'electron/main.ts'), cli: resolve(root, 'server/cli.ts'), ...workers },
  preload: { preload: resolve(root, 'electron/preload.ts') },
};

/** An entry that is not there is left out rather than failing the others. */
function present(entries: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(entries).filter(([, file]) => existsSync(file)));
}

function hasAny(entries: Record<string, string>): boolean {
  return Object.keys(present(entries)).length > 0;
}

export default defineConfig({
  main: hasAny(inputs.main)
    ? {
        build: {
          outDir: resolve(root, 'out/main'),
          emptyOutDir: true,
          rolldownOptions: {
            input: present(inputs.main),
            // Everything in one folder: workers are started by a URL relative to the file that starts them.
            output: { format: 'es', entryFileNames: '[name].js', chunkFileNames: '[name]-[hash].js' },
          },
        },
      }
    : undefined,
  preload: hasAny(inputs.preload)
    ? {
        build: {
          outDir: resolve(root, 'out/preload'),
          emptyOutDir: true,
          // A sandboxed preload must be one CommonJS file.
          externalizeDeps: false,
          rolldownOptions: {
            input: present(inputs.preload),
            output: { format: 'cjs', entryFileNames: '[name].cjs' },
          },
        },
      }
    : undefined,
  renderer: existsSync(resolve(root, 'renderer/index.html'))
    ? { ...renderer, plugins: [renderer.plugins, rootBase] }
    : undefined,
});
