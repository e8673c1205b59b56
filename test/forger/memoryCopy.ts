import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import type { CopyTarget } from '../../server/copies/targets/target.ts';

const refused = () => Promise.reject(new Error('Nothing is written to a copy that is verified.'));

/** A copy in memory, as a folder. It can only be read. */
export function memoryCopy(files: ReadonlyMap<string, Buffer>): CopyTarget {
  return {
    name: 'memory',
    isFolder: true,
    concurrency: 4,
    put: refused,
    flush: refused,
    read: async (path, _signal, range) => {
      const bytes = files.get(path);
      return (
        bytes &&
        Readable.from([bytes.subarray(range?.start ?? 0, (range?.end ?? bytes.length) + 1)], {
          objectMode: false,
        })
      );
    },
    digestOf: async (path) => {
      const bytes = files.get(path);
      return bytes && { sha256: createHash('sha256').update(bytes).digest('hex'), bytes: bytes.length };
    },
    fetch: refused,
    async *list(folder) {
      for (const [path, { length }] of files) if (path.startsWith(folder)) yield { path, bytes: length };
    },
    async *entries() {
      for (const path of files.keys()) yield { path, is: 'file' as const };
    },
    remove: refused,
    purge: refused,
    forgetVersions: refused,
    close: async () => {},
  };
}
