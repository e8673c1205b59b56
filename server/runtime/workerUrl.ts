import { basename } from 'node:path';

/**
 * Returns the URL of a worker's code.
 *
 * @param path the path of `<path>.worker.ts` relative to the calling module, without `./`. After the build, all code is
 * in one folder.
 * @param from `import.meta.url` of the calling module
 */
export function workerUrl(path: string, from: string): URL {
  const isBuilt = !from.endsWith('.ts');
  return new URL(isBuilt ? `./${basename(path)}.worker.js` : `./${path}.worker.ts`, from);
}
