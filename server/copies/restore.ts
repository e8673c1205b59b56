import { rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Clock } from '../../shared/values/clock.ts';
import type { DumpHead } from '../dump/checkDump.ts';
import { restoreDump } from '../dump/restoreDump.ts';
import { keyFile } from '../ledger/nodeKey.ts';
import { markReadOnly } from '../ledger/readOnly.ts';
import { syncFolder, writeFileDurably } from '../store/blobs/durableFile.ts';
import { iterateBlobRows } from '../store/sqlite/node/blobs.ts';
import { writeSetting } from '../store/sqlite/node/settings.ts';
import { openStore } from '../store/store.ts';
import { runLedgerVerification } from '../verification/ledger/ledgerVerification.ts';
import { readKey, requireKeyOf } from './keys/ownerKey.ts';
import { assembleDump } from './records/assembleDump.ts';
import { type RestoredObjects, restoreObjects } from './restoreObjects.ts';
import { CopyError, type CopyTarget } from './targets/target.ts';

export interface RestoreOptions {
  target: CopyTarget;
  /** The data folder to create. It must not exist, or be empty. */
  folder: string;
  clock: Clock;
  /** The passphrase of the key in the copy, to restore the key too. */
  passphrase?: string | undefined;
  signal: AbortSignal;
  /** Called with the number of objects read, and how many there are. */
  progress: (done: number, total: number) => void;
}

export interface RestoreResult extends RestoredObjects {
  head: DumpHead;
}

/**
 * Creates a data folder from a copy. Everything is verified: the checkpoint's signature, each record against its ledger
 * entry, each object against its digest. The archive is read-only until its owner chooses a key, also if its key was
 * restored: it may have signed more after the copy. The folder gets its name
 * only after everything was written.
 *
 * @throws CopyError, DumpError; nothing is left then
 */
export async function restoreCopy(options: RestoreOptions): Promise<RestoreResult> {
  const { target, folder, clock, passphrase, signal } = options;
  const partial = `${folder}.restoring`;
  const dump = `${partial}.jsonl`;
  await rm(partial, { recursive: true, force: true });
  // First, so that a wrong passphrase does not cost the time of a restore.
  const key = passphrase === undefined ? undefined : await readKey(target, passphrase);
  try {
    const { note } = await assembleDump(target, dump, signal);
    const result = await fill(options, partial, dump);
    if (key !== undefined) {
      requireKeyOf(key, result.head.verifierKey, target);
      await writeFileDurably(keyFile(partial), key, 0o600);
    }
    await writeFileDurably(join(partial, 'checkpoint'), note, 0o600);
    const { problems } = await runLedgerVerification({ folder: partial, clock });
    if (problems.length > 0)
      throw new CopyError(`The ledger in ${target.name} is invalid: ${problems.length} problems.`);
    // Replaces an empty folder. If the folder holds anything, this fails and changes nothing.
    await rename(partial, folder);
    await syncFolder(dirname(folder));
    return result;
  } catch (error) {
    await rm(partial, { recursive: true, force: true });
    throw error;
  } finally {
    await rm(dump, { force: true });
  }
}

async function fill(options: RestoreOptions, partial: string, dump: string): Promise<RestoreResult> {
  const store = await openStore({ folder: partial, clock: options.clock });
  try {
    const head = await restoreDump(store, dump);
    await store.write((database) => writeSetting(database, 'verifier_key', head.verifierKey));
    const rows = [...iterateBlobRows(store.read)];
    const objects = await restoreObjects(options.target, partial, rows, options);
    await store.write((database) => markReadOnly(database));
    return { head, ...objects };
  } finally {
    await store.close();
  }
}
