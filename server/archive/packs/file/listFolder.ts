import { readdir } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { compareByUtf8 } from '../../../../shared/archive/filePath.ts';
import { Problem } from '../../../../shared/problems.ts';

/**
 * Returns the paths of all files in a folder, separated by `/` and sorted as in a record.
 *
 * @throws Problem `symlink_entry` for a symbolic link, because its target may be outside the folder; `unsafe_path` for
 * anything that is neither a file nor a folder.
 */
export async function listFolder(folder: string): Promise<string[]> {
  const paths: string[] = [];
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    const path = relative(folder, join(entry.parentPath, entry.name)).replaceAll(sep, '/');
    if (entry.isDirectory()) continue;
    if (entry.isSymbolicLink()) {
      throw new Problem('symlink_entry', `${path} is a symbolic link. Replace it with the file itself.`, {
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
