import { basename, join } from 'node:path';
import { pathToFileURL } from 'node:url';

/**
 * Returns the URL of a worker's code.
 *
 * @param path the path of `<path>.worker.ts` relative to the calling module, without `./`. After the build, all code is
 * in one folder.
 * @param from `import.meta.url` of the calling module
 */
export function workerUrl(path: string, from: string): URL {
  // Tests bundle the workers, because loading one from its sources takes three times as long.
  const bundled = process.env.STRONGROOM_WORKERS;
  if (bundled) return pathToFileURL(join(bundled, `${basename(path)}.worker.js`));
  const isBuilt = !from.endsWith('.ts');
  return new URL(isBuilt ? `./${basename(path)}.worker.js` : `./${path}.worker.ts`, from);
}
