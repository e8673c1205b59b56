import { NO_HASH } from '../../../shared/ledger/ledger.ts';
import type { ReadDatabase } from '../sqlite/engine/open.ts';
import { lastEntry } from '../sqlite/node/ledger.ts';
import { createHeadFile, HeadFile, type RecordedHead, readHeadFile } from './headFile.ts';
import type { Warn } from './warn.ts';

/** Returns the head of the ledger in the database. */
export function headOf(database: ReadDatabase): RecordedHead {
  const last = lastEntry(database);
  return { seq: last?.seq ?? 0, hash: last?.hash ?? NO_HASH };
}

/** Opens the head file and writes the current head to it; creates it for a new archive, or if it does not exist. */
export async function openHead(
  folder: string,
  database: ReadDatabase,
  { isNew, warn }: { isNew: boolean; warn: Warn },
): Promise<HeadFile | undefined> {
  const report = (error: unknown) => warn({ error }, 'The head of the ledger could not be saved.');
  const head = headOf(database);
  try {
    if (isNew || readHeadFile(folder) === undefined) await createHeadFile(folder, head);
  } catch (error) {
    // On a full disk the archive can still be read.
    report(error);
    return undefined;
  }
  const file = new HeadFile(folder, report);
  file.record(head);
  return file;
}
