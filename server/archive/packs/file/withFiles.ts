import mime from 'mime-types';
import type { PackFile } from '../../../../shared/pack.ts';

/** Whether a record, whatever it is, is one that says nothing of its files. */
export function omitsFiles(record: unknown): record is object {
  return typeof record === 'object' && record !== null && !Object.hasOwn(record, 'files');
}

/** A record that leaves `files` out, with the files that came with it; their media types go by their names. */
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
