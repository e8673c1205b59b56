import { globSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import { build } from 'vite';

const ROOT = resolve(import.meta.dirname, '../..');
const FOLDER = resolve(ROOT, `node_modules/.cache/strongroom/workers-${process.pid}`);

/**
 * Bundles the worker threads, as the app has them. From its sources one takes three times as long to load, and tests start
 * thousands: a seventh of their processor time.
 */
export default async function buildWorkers(): Promise<() => Promise<void>> {
  const files = globSync('server/**/*.worker.ts', { cwd: ROOT });
  await build({
    configFile: false,
    logLevel: 'error',
    ssr: { noExternal: true, external: ['better-sqlite3', 'pdfjs-dist', '@aws-sdk/client-s3'] },
    build: {
      ssr: true,
      target: 'node24',
      outDir: FOLDER,
      rolldownOptions: {
        input: Object.fromEntries(files.map((file) => [basename(file, '.ts'), resolve(ROOT, file)])),
        output: { entryFileNames: '[name].js', chunkFileNames: '[name]-[hash].js' },
      },
    },
  });
  process.env.STRONGROOM_WORKERS = FOLDER;
  return () => rm(FOLDER, { recursive: true, force: true });
}
