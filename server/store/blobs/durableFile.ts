import { closeSync, fsync, openSync } from 'node:fs';
import { type FileHandle, mkdir, open, rename } from 'node:fs/promises';
import { dirname } from 'node:path';

/**
 * Makes a folder's own entries durable: a rename is on stable storage only after this. Windows cannot open a folder
 * for syncing; there NTFS journals the rename, and that is all that can be had.
 */
export async function syncFolder(folder: string): Promise<void> {
  if (process.platform === 'win32') return;
  // To open a folder waits for nothing; a thread for that costs as much as the syncing.
  const descriptor = openSync(folder, 'r');
  try {
    await new Promise<void>((resolve, reject) =>
      fsync(descriptor, (error) => (error ? reject(error) : resolve())),
    );
  } finally {
    closeSync(descriptor);
  }
}

/** Makes a file's bytes durable. */
export async function syncFile(file: string): Promise<void> {
  // For writing, because Windows syncs no other.
  const handle = await open(file, 'r+');
  try {
    await handle.datasync();
  } finally {
    await handle.close();
  }
}

/** Creates a folder and what leads to it, each new entry durable. */
export async function createFolder(folder: string): Promise<void> {
  const first = await mkdir(folder, { recursive: true, mode: 0o700 });
  if (first === undefined) return;
  for (let made = folder; ; made = dirname(made)) {
    await syncFolder(dirname(made));
    if (made === first) return;
  }
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
  await rename(temporary, file);
  await syncFolder(dirname(file));
}
