import { globSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import { build, type Plugin } from 'vite';

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
    plugins: [quickPassphrases()],
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

/** Deriving a key from a passphrase takes seconds, so that guessing does. In the threads of tests it takes no time. */
function quickPassphrases(): Plugin {
  const [usual, quick] = ['scryptWorkFactor = 18;', 'scryptWorkFactor = 8;'];
  return {
    name: 'strongroom:quick-passphrases',
    transform(code, id) {
      if (!id.endsWith('/age-encryption/dist/index.js')) return undefined;
      if (!code.includes(usual)) throw new Error(`${id} has no ${usual}`);
      return code.replace(usual, quick);
    },
  };
}
