import { type FileHandle, mkdir, open, rename } from 'node:fs/promises';
import { dirname } from 'node:path';

/**
 * Makes a folder's own entries durable: a rename is on stable storage only after this. Windows cannot open a folder
 * for syncing; there NTFS journals the rename, and that is all that can be had.
 */
export async function syncFolder(folder: string): Promise<void> {
  if (process.platform === 'win32') return;
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Creates a folder and what leads to it, each new entry durable. */
export async function createFolder(folder: string): Promise<void> {
  await Promise.all((await makeFolder(folder)).map(syncFolder));
}

/** Creates a folder and what leads to it; gives the folders whose new entries are yet to be synced. */
async function makeFolder(folder: string): Promise<string[]> {
  const first = await mkdir(folder, { recursive: true, mode: 0o700 });
  const changed: string[] = [];
  if (first === undefined) return changed;
  for (let made = folder; ; made = dirname(made)) {
    changed.push(dirname(made));
    if (made === first) return changed;
  }
}

/**
 * Moves a file whose bytes are synced to its name, durably. Replaces what stands there. Folders are synced together,
 * because a file system that keeps a journal writes it once for all of them.
 * A crash before the rename leaves the file in `tmp/`, which the next start empties; one after it leaves a blob that
 * no row names, which is legal and swept.
 */
export async function renameDurably(from: string, to: string): Promise<void> {
  const changed = await makeFolder(dirname(to));
  await rename(from, to);
  await Promise.all([dirname(to), ...changed].map(syncFolder));
}

/** Writes a small file whole, with its mode, durably and in one step: no reader sees half of it. */
export async function writeFileDurably(file: string, text: string, mode: number): Promise<void> {
  await createFolder(dirname(file));
  const temporary = `${file}.tmp`;
  const handle: FileHandle = await open(temporary, 'w', mode);
  try {
    await handle.writeFile(text);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await renameDurably(temporary, file);
}
