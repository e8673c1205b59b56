import { execFile } from 'node:child_process';
import { closeSync, fsync, openSync } from 'node:fs';
import { type FileHandle, mkdir, open, rename } from 'node:fs/promises';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import { errorCode } from '../../../shared/values/errorCode.ts';

/**
 * Syncs a folder's entries: a rename is on stable storage only after this. Windows cannot sync a folder; NTFS journals
 * renames itself.
 */
export async function syncFolder(folder: string): Promise<void> {
  if (process.platform === 'win32') return;
  // Opening a folder does not wait for the disk; doing it in a thread would cost as much as the sync.
  const descriptor = openSync(folder, 'r');
  try {
    await new Promise<void>((resolve, reject) =>
      fsync(descriptor, (error) => (error ? reject(error) : resolve())),
    );
  } finally {
    closeSync(descriptor);
  }
}

/** Syncs a file's data. */
export async function syncFile(file: string): Promise<void> {
  // Windows syncs only files that are open for writing.
  const handle = await open(file, 'r+');
  try {
    await handle.datasync();
  } finally {
    await handle.close();
  }
}

/**
 * Syncs the whole file system of a folder, which is faster than syncing many files. Runs `sync --file-system`, because
 * Node.js has no syncfs(2). Returns false, and does nothing, where there is no such program.
 */
export async function syncFileSystem(folder: string): Promise<boolean> {
  if (process.platform !== 'linux') return false;
  try {
    await promisify(execFile)('sync', ['--file-system', folder]);
    return true;
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return false;
    throw error;
  }
}

/** Creates a folder and its missing parents durably. */
export async function createFolder(folder: string): Promise<void> {
  const first = await mkdir(folder, { recursive: true, mode: 0o700 });
  if (first === undefined) return;
  for (let made = folder; ; made = dirname(made)) {
    await syncFolder(dirname(made));
    if (made === first) return;
  }
}

/** Writes a small file durably and atomically: no reader sees a part of it. */
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
