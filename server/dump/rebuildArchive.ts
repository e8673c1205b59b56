import { createPrivateKey } from 'node:crypto';
import { createReadStream, existsSync } from 'node:fs';
import { readdir, readFile, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { type Clock, instantOf } from '../../shared/values/clock.ts';
import { countOf } from '../../shared/values/counts.ts';
import { CheckpointError, nodeKeyOf, openCheckpoint } from '../ledger/checkpoint.ts';
import { readStoredCheckpoint } from '../ledger/checkpoints.ts';
import { detectRollback, readKnownState } from '../ledger/detectRollback.ts';
import { keyNameOf } from '../ledger/nodeKey.ts';
import { databaseFile, orIfMissing, syncFile, syncFolder } from '../store/files.ts';
import { lockFolder } from '../store/opening/folderLock.ts';
import {
  hasDatabase,
  isReadable,
  MissingDatabaseError,
  RollbackDetectedError,
  withReadOnlyDatabase,
} from '../store/opening/inspectFolder.ts';
import { requireHere } from '../store/opening/movedFolder.ts';
import { writeSetting } from '../store/sqlite/node/owner.ts';
import { openStore } from '../store/store.ts';
import { runLedgerVerification } from '../verification/ledger/ledgerVerification.ts';
import type { DumpHead } from './checkDump.ts';
import { DumpError } from './dumpFile.ts';
import { restoreDump } from './restoreDump.ts';

/** The database could not be rebuilt. The folder was not changed. */
class RebuildError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'RebuildError';
  }
}

interface RebuildOptions {
  folder: string;
  clock: Clock;
  /** The dump to use; the newest one if undefined. */
  dump?: string | undefined;
  /** Accepts a dump that is behind what the node acknowledged or signed. */
  acceptRollback?: boolean | undefined;
}

/** The result of a rebuild. */
export interface RebuildResult {
  dump: string;
  head: DumpHead;
  /** The new name of the broken database, if there was one. */
  setAside: string | undefined;
  /** Newer dumps that were skipped, each with the reason. */
  passedOver: string[];
}

/** Returns whether the database of a data folder is missing, empty or cannot be read. */
export async function needsRebuild(folder: string): Promise<boolean> {
  requireHere(folder);
  try {
    return hasDatabase(folder) && !(await isReadable(folder));
  } catch (error) {
    if (error instanceof MissingDatabaseError) return true;
    throw error;
  }
}

/**
 * Rebuilds the database of an archive from a dump. The new database has another name until the whole dump was read and
 * its ledger verified. A database that can be read is never replaced. The archive keeps its name and its key.
 *
 * @throws RebuildError, FolderInUseError; StoredCheckpointError, HeadFileError unless a rollback is accepted
 */
export async function rebuildArchive(options: RebuildOptions): Promise<RebuildResult> {
  const { folder, clock } = options;
  if (!existsSync(folder)) throw new RebuildError(`There is no folder ${folder}.`);
  requireHere(folder);
  const lock = lockFolder(folder);
  const partial = join(folder, 'rebuilding');
  try {
    if (hasDatabaseFile(folder) && (await isReadable(folder))) {
      throw new RebuildError(
        `The database in ${folder} can be read, so it is not replaced. To rebuild it from a dump anyway, first move strongroom.db (and strongroom.db-wal, if present) to another folder.`,
      );
    }
    const { dump, head, passedOver } = await buildFromNewest(options, partial);
    await requireComplete(options, partial, dump);
    const setAside = await renameBroken(folder, instantOf(clock.now()));
    await syncFile(databaseFile(partial));
    await rename(databaseFile(partial), databaseFile(folder));
    await syncFolder(folder);
    return { dump, head, setAside, passedOver };
  } finally {
    await rm(partial, { recursive: true, force: true });
    lock.release();
  }
}

/** Returns whether the folder has a file that begins like a database. */
function hasDatabaseFile(folder: string): boolean {
  try {
    return hasDatabase(folder);
  } catch (error) {
    if (error instanceof MissingDatabaseError) return false;
    throw error;
  }
}

async function buildFromNewest(
  options: RebuildOptions,
  partial: string,
): Promise<Omit<RebuildResult, 'setAside'>> {
  const passedOver: string[] = [];
  for (const found of await candidates(options)) {
    try {
      await assertOwnedByThisNode(options.folder, found);
      return { dump: found.file, head: await build(options, partial, found), passedOver };
    } catch (error) {
      if (!(error instanceof DumpError)) throw error;
      passedOver.push(`${found.file}: ${error.message}`);
    }
  }
  const tried = passedOver.length > 0 ? ` These could not be used: ${passedOver.join(' ')}` : '';
  throw new RebuildError(
    `There is no dump to rebuild ${options.folder} from: no file *.jsonl in it, in its subfolder “dumps” or next to it. Specify one with --dump.${tried}`,
  );
}

async function candidates({ folder, dump }: RebuildOptions): Promise<FoundDump[]> {
  if (dump === undefined) return findDumps(folder);
  if (!existsSync(dump)) throw new RebuildError(`There is no file ${dump}.`);
  const named = await readDumpHeader(dump);
  if (!named) throw new RebuildError(`${dump} is not a dump.`);
  return [named];
}

/**
 * Requires that a dump is of this archive: its key is in the folder, or a checkpoint in the folder is signed with it. A
 * folder without keys and checkpoints accepts any dump.
 *
 * @throws DumpError
 */
async function assertOwnedByThisNode(folder: string, { key }: FoundDump): Promise<void> {
  const names = (await readdir(folder)).filter((name) => /^key(\.next|\.retired-[0-9a-f]{8})?$/.test(name));
  const keys = await Promise.all(names.map((name) => verifierKeyIn(join(folder, name), keyNameOf(key))));
  const stored = await readStoredCheckpoint(folder);
  if ((names.length === 0 && !stored) || keys.includes(key)) return;
  if (stored && isSignedBy(stored.note, key)) return;
  throw new DumpError('It is the dump of another archive.');
}

async function verifierKeyIn(file: string, name: string): Promise<string | undefined> {
  try {
    return nodeKeyOf(name, createPrivateKey(await readFile(file, 'utf8'))).verifierKey;
  } catch {
    // Not a key, so not the dump's key.
    return undefined;
  }
}

function isSignedBy(note: string, key: string): boolean {
  try {
    openCheckpoint(note, key);
    return true;
  } catch (error) {
    if (error instanceof CheckpointError) return false;
    throw error;
  }
}

/** Restores a dump into the folder `partial` and verifies the result. */
async function build(
  { clock }: RebuildOptions,
  partial: string,
  { file, key }: FoundDump,
): Promise<DumpHead> {
  await rm(partial, { recursive: true, force: true });
  const store = await openStore({ folder: partial, clock });
  let head: DumpHead;
  try {
    head = await restoreDump(store, file);
    await store.write((database) => writeSetting(database, 'verifier_key', key));
  } finally {
    await store.close();
  }
  const { problems } = await runLedgerVerification({ folder: partial, clock });
  if (problems.length > 0)
    throw new DumpError(`Its ledger is invalid: ${countOf(problems.length, 'problem')}.`);
  return head;
}

/** @throws RebuildError if the node acknowledged or signed more than the dump holds, unless a rollback is accepted */
async function requireComplete(
  { folder, acceptRollback }: RebuildOptions,
  partial: string,
  dump: string,
): Promise<void> {
  const beside = await readKnownState(folder);
  const { doubt } = await withReadOnlyDatabase(partial, (examined) => detectRollback(examined, beside));
  if (!doubt || acceptRollback) return;
  if (!(doubt instanceof RollbackDetectedError)) throw doubt;
  throw new RebuildError(
    `The newest dump, ${dump}, does not hold all of this archive: ${doubt.reason} Specify a newer dump with --dump, or use --accept-rollback to continue with this one and a new key. Nothing was changed.`,
  );
}

/** Renames a broken database and its companion files; returns the new name. */
async function renameBroken(folder: string, at: string): Promise<string | undefined> {
  const file = databaseFile(folder);
  const aside = `${file}.broken-${at.replace(/[-:.]/g, '')}`;
  for (const ending of ['-unsettled', '-shm', '-wal', ''])
    if (existsSync(file + ending)) await rename(file + ending, aside + ending);
  return existsSync(aside) ? basename(aside) : undefined;
}

/** A file whose first line is the header of a dump; the rest was not checked. */
interface FoundDump {
  file: string;
  /** The verifier key of the node that made it. */
  key: string;
  /** The number of ledger entries, by its checkpoint. */
  size: number;
  madeAt: string;
}

/** A header has a few hundred characters; a longer first line is not one. */
const MAX_HEADER_BYTES = 65_536;

/** Finds the dumps in a data folder, in its subfolder `dumps` and next to it; newest first. */
async function findDumps(folder: string): Promise<FoundDump[]> {
  const found: FoundDump[] = [];
  for (const place of [folder, join(folder, 'dumps'), dirname(folder)]) {
    for (const name of await namesIn(place)) {
      const dump = name.endsWith('.jsonl') ? await readDumpHeader(join(place, name)) : undefined;
      if (dump) found.push(dump);
    }
  }
  return found.sort((left, right) => right.size - left.size || (left.madeAt < right.madeAt ? 1 : -1));
}

async function namesIn(folder: string): Promise<string[]> {
  const entries = await orIfMissing(readdir(folder, { withFileTypes: true }), []);
  return entries.filter((entry) => entry.isFile()).map(({ name }) => name);
}

/** Reads the header of a dump; returns undefined if the file is not a dump. */
async function readDumpHeader(file: string): Promise<FoundDump | undefined> {
  const header = parsed(await firstLineOf(file));
  if (!header) return undefined;
  const { kind, key, checkpoint, made_at } = header;
  if (kind !== 'header' || typeof key !== 'string' || typeof checkpoint !== 'string') return undefined;
  try {
    return { file, key, size: openCheckpoint(checkpoint, key).size, madeAt: String(made_at) };
  } catch (error) {
    if (error instanceof CheckpointError) return undefined;
    throw error;
  }
}

async function firstLineOf(file: string): Promise<string> {
  const input = createReadStream(file, { end: MAX_HEADER_BYTES - 1 });
  try {
    for await (const line of createInterface({ input })) return line;
    return '';
  } finally {
    input.destroy();
  }
}

function parsed(line: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    // Not JSON, so not a dump.
    return undefined;
  }
}
