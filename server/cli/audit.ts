import { parseArgs } from 'node:util';
import { systemClock } from '../../shared/clock.ts';
import type { AuditResult, DamageProblem, DatabaseCheck, LostAndFoundFindings } from '../../shared/fixity.ts';
import { coverRetrievals } from '../collection/record/coverRetrievals.ts';
import { auditEverything } from '../fixity/audit.ts';
import { auditBlobs } from '../fixity/auditBlobs.ts';
import { checkDatabase } from '../fixity/checkDatabase.ts';
import { emptyFindings, listUnnamedBlobs } from '../fixity/lostAndFound.ts';
import { checkOpening, openArchive } from '../ledger/openArchive.ts';
import { lostFiles } from '../store/blobs/lostAndFound.ts';
import { DamagedDatabaseError } from '../store/opening/existingArchive.ts';
import { FolderInUseError } from '../store/opening/folderLock.ts';
import type { Store } from '../store/store.ts';
import {
  archiveFolder,
  type Command,
  DATA_OPTION,
  type ExitCode,
  JSON_OPTION,
  print,
  printError,
} from './command.ts';
import { openProgress } from './progress.ts';

const HELP = `Usage: strongroom audit [options]

Checks the database of a data folder and re-hashes every stored byte. What is damaged, and what is right again, goes
into the ledger; stored bytes that no record names are moved to lost-and-found/ and come back when a record names them.
While a node has the folder open, all of it is only told, and the node does it when it comes to it (or when its owner
starts an audit there).

  --data DIR   the data folder (default: ./strongroom-data)
  --json       one JSON object instead of sentences

Ends with 0 if everything is intact, 1 if anything is damaged, 2 if it could not be done.`;

/** What an audit found, and whether it was recorded. */
export interface Told extends LostAndFoundFindings {
  database: DatabaseCheck;
  checked: number;
  bytes: number;
  damaged_objects: number;
  damaged: { sha256: string; bytes: number; problem: DamageProblem; found: string | null }[];
  restored: string[];
  recorded: boolean;
}

const LISTED = 1_000;

export const audit: Command = {
  name: 'audit',
  summary: 're-hash every stored byte of a data folder',
  help: HELP,
  async run(args): Promise<ExitCode> {
    const { values } = parseArgs({
      args,
      options: {
        data: DATA_OPTION,
        json: JSON_OPTION,
      },
    });
    const folder = archiveFolder(values.data);
    // Before the folder is opened: to a damaged database nothing is written.
    await requireAcknowledged(folder);
    const database = await checkDatabase({ folder });
    const store = database.ok ? await openUnlessInUse(folder) : undefined;
    const told = store ? await auditAndRecord(store, database) : await auditReadOnly(folder, database);
    const ok = database.ok && told.damaged_objects === 0;
    if (values.json) print(JSON.stringify({ ok, ...told }));
    else tell(told);
    return ok ? 0 : 1;
  },
};

/** @throws what refuses an archive that is behind what was acknowledged. One that is in use, or damaged, is looked at. */
async function requireAcknowledged(folder: string): Promise<void> {
  try {
    await checkOpening({ folder, clock: systemClock });
  } catch (error) {
    if (!(error instanceof FolderInUseError || error instanceof DamagedDatabaseError)) throw error;
  }
}

async function openUnlessInUse(folder: string): Promise<Store | undefined> {
  try {
    return (await openArchive({ folder, clock: systemClock })).store;
  } catch (error) {
    if (error instanceof FolderInUseError) return undefined;
    throw error;
  }
}

async function auditAndRecord(store: Store, database: DatabaseCheck): Promise<Told> {
  const line = openLine();
  try {
    await coverRetrievals(store);
    const result: AuditResult = await auditEverything(store, {
      signal: new AbortController().signal,
      progress: line.tell,
      database,
    });
    const damaged = result.damaged.map(({ sha256, bytes, problem, found }) => ({
      sha256,
      bytes,
      problem,
      found,
    }));
    const { restored_objects: _count, ...told } = result;
    return { ...told, damaged, recorded: true };
  } finally {
    line.clear();
    await store.close();
  }
}

/** Reads what a node has open, or what is damaged, and writes nothing. */
export async function auditReadOnly(folder: string, database: DatabaseCheck): Promise<Told> {
  try {
    return { ...(await readBeside(folder)), database };
  } catch (error) {
    if (database.ok) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    const finding = `The stored bytes could not be re-hashed: ${reason}.`;
    return { ...NOTHING_LOOKED_AT, database: { ok: false, findings: [...database.findings, finding] } };
  }
}

const NOTHING_LOOKED_AT: Omit<Told, 'database'> = {
  checked: 0,
  bytes: 0,
  damaged_objects: 0,
  damaged: [],
  restored: [],
  recorded: false,
  ...emptyFindings(),
};

async function readBeside(folder: string): Promise<Omit<Told, 'database'>> {
  const told: Omit<Told, 'database'> = {
    ...NOTHING_LOOKED_AT,
    damaged: [],
    restored: [],
  };
  const line = openLine();
  try {
    for (let after = '', isEnd = false; !isEnd; ) {
      const done = told.bytes;
      const slice = await auditBlobs({ folder }, { after, tell: (bytes) => line.tell(done + bytes) });
      told.checked += slice.checked;
      told.bytes += slice.bytes;
      for (const { problem, ...object } of slice.findings) {
        if (problem === null) {
          if (told.restored.length < LISTED) told.restored.push(object.sha256);
          continue;
        }
        told.damaged_objects += 1;
        if (told.damaged.length < LISTED) told.damaged.push({ ...object, problem });
      }
      line.tell(told.bytes);
      after = slice.position;
      isEnd = slice.isEnd;
    }
  } finally {
    line.clear();
  }
  return { ...told, ...(await listUnnamedBlobs({ folder }, await lostFiles(folder))) };
}

/** The line of progress, told by what was read in all. */
function openLine(): { tell: (done: number, total?: number) => void; clear: () => void } {
  const progress = openProgress(process.stderr);
  let found = 0;
  let read = 0;
  return {
    tell: (done, total = done) => {
      progress.found(Math.max(0, total - found));
      found = Math.max(found, total);
      progress.read(done - read);
      read = done;
    },
    clear: () => progress.clear(),
  };
}

/** What is told of a damage, after the digest. */
export const SAID: Record<DamageProblem, (found: string | null) => string> = {
  missing: () => 'its bytes are missing',
  changed: (found) => `its bytes were changed; they have the digest ${found ?? 'of nothing'}`,
  unreadable: () => 'its bytes cannot be read',
};

function tellDatabase({ findings }: DatabaseCheck): void {
  printError(
    'The database is damaged: put back a copy that is sound. Nothing was written. This is what SQLite found:',
  );
  for (const finding of findings) printError(`  ${finding}`);
}

function tellLost(told: Told): void {
  const {
    unnamed,
    unnamed_objects,
    lost_and_found,
    lost_and_found_objects,
    foreign,
    foreign_files,
    recorded,
  } = told;
  const where = recorded ? 'it was moved to lost-and-found/' : 'it is left where it is';
  for (const { sha256, bytes } of unnamed) print(`${sha256}: ${bytes} bytes that no record names; ${where}.`);
  if (unnamed_objects > unnamed.length) print(`… and ${unnamed_objects - unnamed.length} more.`);
  const moved = new Set(recorded ? unnamed.map(({ sha256 }) => sha256) : []);
  const earlier = lost_and_found.filter(({ sha256 }) => !moved.has(sha256));
  for (const { name, bytes } of earlier)
    print(`lost-and-found/${name}: ${bytes} bytes that no record names.`);
  if (lost_and_found_objects > lost_and_found.length)
    print(`lost-and-found/ holds ${lost_and_found_objects} files in all.`);
  for (const path of foreign) print(`${path}: no file of this archive; it was left alone.`);
  if (foreign_files > foreign.length) print(`… and ${foreign_files - foreign.length} more.`);
}

function tell(told: Told): void {
  const { database, checked, bytes, damaged_objects, damaged, restored, recorded } = told;
  if (!database.ok) tellDatabase(database);
  for (const { sha256, problem, found } of damaged) printError(`${sha256}: ${SAID[problem](found)}.`);
  for (const sha256 of restored) print(`${sha256}: its bytes are right again.`);
  tellLost(told);
  if (!recorded && database.ok)
    print('A node has this folder open: it was only read, and nothing was recorded.');
  const all = `${checked} ${checked === 1 ? 'object' : 'objects'}, ${bytes} bytes`;
  print(
    damaged_objects === 0
      ? `${database.ok ? 'All is' : 'The stored bytes that could be read are'} intact: ${all}.`
      : `${damaged_objects} damaged of ${all}. Add the right bytes again: the pack file, or a check of the source.`,
  );
}
