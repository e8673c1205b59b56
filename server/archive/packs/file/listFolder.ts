import { readdir } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { compareByUtf8 } from '../../../../shared/filePath.ts';
import { Problem } from '../../../../shared/problems.ts';

/**
 * The paths of all files in a folder, `/`-separated and in the order of a record.
 *
 * @throws Problem `symlink_entry` for a symbolic link, which would be another file elsewhere; `unsafe_path` for what is
 * neither file nor folder.
 */
export async function listFolder(folder: string): Promise<string[]> {
  const paths: string[] = [];
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    const path = relative(folder, join(entry.parentPath, entry.name)).replaceAll(sep, '/');
    if (entry.isDirectory()) continue;
    if (entry.isSymbolicLink()) {
      throw new Problem('symlink_entry', `${path} is a symbolic link. Put the file itself in its place.`, {
        members: { path },
      });
    }
    if (!entry.isFile()) {
      throw new Problem('unsafe_path', `${path} is neither a file nor a folder.`, { members: { path } });
    }
    paths.push(path);
  }
  return paths.sort(compareByUtf8);
}
