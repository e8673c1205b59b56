import mime from 'mime-types';
import type { PackFile } from '../../../../shared/archive/pack.ts';

/** Returns whether a value is a record that omits `files`. */
export function omitsFiles(record: unknown): record is object {
  return typeof record === 'object' && record !== null && !Object.hasOwn(record, 'files');
}

/** Adds `files` to a record that omits them. Media types are guessed from the paths. */
export function withFiles(
  record: object,
  paths: readonly string[],
  files: ReadonlyMap<string, { sha256: string; bytes: number }>,
): object {
  const named = paths.map((path): PackFile => {
    const { sha256 = '', bytes = 0 } = files.get(path) ?? {};
    return { path, sha256, bytes, media_type: mime.lookup(path) || 'application/octet-stream' };
  });
  return { ...record, files: named };
}
