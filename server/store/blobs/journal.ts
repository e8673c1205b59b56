import { hash } from 'node:crypto';
import { readdir, readFile, rm, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { journalFolder, orIfMissing } from '../files.ts';

/*
 * Earlier versions appended small blobs to a journal and synced their own files later. A folder that such a version had
 * open when it was killed has a journal: the only durable copy of those blobs.
 */

/** A blob in the journal. */
export interface JournaledBlob {
  sha256: string;
  bytes: Uint8Array;
}

const NEWLINE = 0x0a;
/** A digest, a space, the number of bytes, a newline. */
const HEAD = /^([0-9a-f]{64}) (\d{1,9})$/;
const MOST_HEAD_BYTES = 75;

/**
 * Parses the blobs of a journal file, in order. Stops at the first one that is incomplete or does not match its digest:
 * it was being written when the machine stopped, and was never acknowledged.
 */
export function* parseJournal(file: Buffer): Generator<JournaledBlob> {
  for (let at = 0; at < file.length; ) {
    const end = file.subarray(at, at + MOST_HEAD_BYTES).indexOf(NEWLINE);
    const [, sha256 = '', length = ''] = HEAD.exec(file.toString('latin1', at, at + Math.max(0, end))) ?? [];
    const from = at + end + 1;
    at = from + Number(length);
    const bytes = file.subarray(from, at);
    if (sha256 === '' || at > file.length || hash('sha256', bytes, 'hex') !== sha256) return;
    yield { sha256, bytes };
  }
}

/**
 * Recovers the journal of an earlier version and removes it. Each blob that a row references is written durably to its
 * own file, also if there is one: after a failed sync a file may be readable from the page cache without being on the
 * disk. The others are passed to `leave`.
 *
 * @param isWanted whether a blob needs its file
 */
export async function recoverJournal(
  dataFolder: string,
  {
    isReferenced,
    isWanted,
    write,
    leave,
  }: {
    isReferenced: (sha256: string) => boolean;
    isWanted: (sha256: string) => boolean;
    write: (blob: JournaledBlob) => Promise<void>;
    leave: (sha256: string) => Promise<void>;
  },
): Promise<void> {
  const folder = journalFolder(dataFolder);
  const names = await orIfMissing(readdir(folder), []);
  for (const name of names) {
    const file = join(folder, name);
    const blobs = [...parseJournal(await readFile(file))];
    await Promise.all(blobs.filter(({ sha256 }) => isWanted(sha256)).map(write));
    for (const { sha256 } of blobs) if (!isReferenced(sha256)) await leave(sha256);
    await unlink(file);
  }
  await rm(folder, { recursive: true, force: true });
}
