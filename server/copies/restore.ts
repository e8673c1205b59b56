import { rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import pLimit from 'p-limit';
import type { Clock } from '../../shared/values/clock.ts';
import type { DumpHead } from '../dump/checkDump.ts';
import { restoreDump } from '../dump/restoreDump.ts';
import { putBack } from '../fixity/putBack.ts';
import { markReadOnly } from '../ledger/readOnly.ts';
import { writeFileDurably } from '../store/blobs/durableFile.ts';
import { iterateBlobRows } from '../store/sqlite/node/blobs.ts';
import { writeSetting } from '../store/sqlite/node/settings.ts';
import { openStore, type Store } from '../store/store.ts';
import { runLedgerVerification } from '../verification/ledger/ledgerVerification.ts';
import { assembleDump } from './assembleDump.ts';
import { objectPath } from './layout.ts';
import { CopyError, type CopyTarget } from './targets/target.ts';

export interface RestoreOptions {
  target: CopyTarget;
  /** The data folder to create. It must not exist, or be empty. */
  folder: string;
  clock: Clock;
  signal: AbortSignal;
  /** Called with the number of objects read, and how many there are. */
  progress: (done: number, total: number) => void;
}

export interface RestoreResult {
  head: DumpHead;
  objects: number;
  bytes: number;
  /** Objects that the copy does not hold intact. */
  missing: string[];
}

/**
 * Creates a data folder from a copy. Everything is verified: the checkpoint's signature, each record against its ledger
 * entry, each object against its digest. The archive is read-only until its owner chooses a key. The folder gets its name
 * only after everything was written.
 *
 * @throws CopyError, DumpError; nothing is left then
 */
export async function restoreCopy(options: RestoreOptions): Promise<RestoreResult> {
  const { target, folder, clock, signal } = options;
  const partial = `${folder}.restoring`;
  const dump = `${partial}.jsonl`;
  await rm(partial, { recursive: true, force: true });
  try {
    const { note } = await assembleDump(target, dump, signal);
    const result = await fill(options, partial, dump);
    await writeFileDurably(join(partial, 'checkpoint'), note, 0o600);
    const { problems } = await runLedgerVerification({ folder: partial, clock });
    if (problems.length > 0)
      throw new CopyError(`The ledger in ${target.name} is invalid: ${problems.length} problems.`);
    // Replaces an empty folder. If the folder holds anything, this fails and changes nothing.
    await rename(partial, folder);
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
    const objects = await restoreObjects(store, options);
    await store.write((database) => markReadOnly(database));
    return { head, ...objects };
  } finally {
    await store.close();
  }
}

async function restoreObjects(
  store: Store,
  { target, signal, progress }: RestoreOptions,
): Promise<Omit<RestoreResult, 'head'>> {
  const rows = [...iterateBlobRows(store.read)];
  const limit = pLimit(target.concurrency);
  const result: Omit<RestoreResult, 'head'> = { objects: 0, bytes: 0, missing: [] };
  const restoreOne = async ({ sha256, bytes }: { sha256: string; bytes: number }) => {
    signal.throwIfAborted();
    const stream = await target.read(objectPath(sha256), signal);
    if (stream && (await putBack(store, sha256, stream as AsyncIterable<Buffer>))) {
      result.objects += 1;
      result.bytes += bytes;
    } else result.missing.push(sha256);
    progress(result.objects + result.missing.length, rows.length);
  };
  const all = rows.map((row) => limit(() => restoreOne(row)));
  try {
    await Promise.all(all);
  } catch (error) {
    limit.clearQueue();
    throw error;
  }
  result.missing.sort();
  return result;
}
