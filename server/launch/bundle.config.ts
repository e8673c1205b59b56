import { globSync } from 'node:fs';
import { basename, resolve } from 'node:path';
import { defineConfig } from 'vite';
import { copyPages } from '../copies/pages/buildAssets.ts';

const root = resolve(import.meta.dirname, '../..');

/** Each worker is a file of its own. */
const workers = Object.fromEntries(
  globSync('server/**/*.worker.ts', { cwd: root }).map((file) => [
    basename(file, '.ts'),
    resolve(root, file),
  ]),
);

/**
 * The server with its packages in a few files, for starts from a checkout: otherwise Node loads a thousand modules. The
 * app has its own build (electron.vite.config.ts).
 */
export default defineConfig({
  root,
  publicDir: false,
  plugins: [copyPages()],
  build: {
    ssr: true,
    outDir: resolve(root, 'out/server'),
    emptyOutDir: false,
    target: 'node24',
    rolldownOptions: {
      input: {
        cli: resolve(root, 'server/cli.ts'),
        openArchive: resolve(root, 'electron/openArchive.ts'),
        ...workers,
      },
      // One folder for everything, because a worker's URL is relative to the file that starts it.
      output: {
        entryFileNames: '[name].js',
        chunkFileNames: '[name]-[hash].js',
        // V8 keeps the sources. It takes two bytes for each character of a file that has one beyond Latin-1.
        charset: 'ascii',
        comments: false,
      },
    },
  },
  // These read files of their own, or are rarely loaded.
  ssr: { noExternal: true, external: ['better-sqlite3', 'pdfjs-dist', '@aws-sdk/client-s3'] },
});
