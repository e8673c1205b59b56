import { parseArgs } from 'node:util';
import { systemClock } from '../../shared/clock.ts';
import type { AuditResult, DamageProblem } from '../../shared/fixity.ts';
import { coverRetrievals } from '../collection/coverRetrievals.ts';
import { auditEverything } from '../fixity/audit.ts';
import { FolderInUseError } from '../store/folderLock.ts';
import { openStore, type Store } from '../store/store.ts';
import { auditBlobs } from '../workers/auditBlobs.ts';
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

Re-hashes every stored byte of a data folder. What is damaged, and what is right again, goes into the ledger; while a
node has the folder open, it is only told, and the node records it when it comes to it (or when its owner starts an
audit there).

  --data DIR   the data folder (default: ./strongroom-data)
  --json       one JSON object instead of sentences

Ends with 0 if everything is intact, 1 if anything is damaged, 2 if it could not be done.`;

/** What an audit found, and whether it was recorded. */
interface Told {
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
    const store = await openUnlessInUse(folder);
    const told = store ? await auditAndRecord(store) : await auditBeside(folder);
    const ok = told.damaged_objects === 0;
    if (values.json) print(JSON.stringify({ ok, ...told }));
    else tell(told);
    return ok ? 0 : 1;
  },
};

async function openUnlessInUse(folder: string): Promise<Store | undefined> {
  try {
    return await openStore({ folder, clock: systemClock });
  } catch (error) {
    if (error instanceof FolderInUseError) return undefined;
    throw error;
  }
}

async function auditAndRecord(store: Store): Promise<Told> {
  const line = openLine();
  try {
    await coverRetrievals(store);
    const result: AuditResult = await auditEverything(store, {
      signal: new AbortController().signal,
      progress: line.tell,
    });
    const damaged = result.damaged.map(({ sha256, bytes, problem, found }) => ({
      sha256,
      bytes,
      problem,
      found,
    }));
    const { checked, bytes, damaged_objects, restored } = result;
    return { checked, bytes, damaged_objects, damaged, restored, recorded: true };
  } finally {
    line.clear();
    await store.close();
  }
}

/** Reads what a node has open, and writes nothing. */
async function auditBeside(folder: string): Promise<Told> {
  const told: Told = {
    checked: 0,
    bytes: 0,
    damaged_objects: 0,
    damaged: [],
    restored: [],
    recorded: false,
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
  return told;
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

const SAID: Record<DamageProblem, (found: string | null) => string> = {
  missing: () => 'its bytes are missing',
  changed: (found) => `its bytes were changed; they have the digest ${found ?? 'of nothing'}`,
  unreadable: () => 'its bytes cannot be read',
};

function tell({ checked, bytes, damaged_objects, damaged, restored, recorded }: Told): void {
  for (const { sha256, problem, found } of damaged) printError(`${sha256}: ${SAID[problem](found)}.`);
  for (const sha256 of restored) print(`${sha256}: its bytes are right again.`);
  if (!recorded) print('A node has this folder open: it was only read, and nothing was recorded.');
  const all = `${checked} ${checked === 1 ? 'object' : 'objects'}, ${bytes} bytes`;
  print(
    damaged_objects === 0
      ? `All is intact: ${all}.`
      : `${damaged_objects} damaged of ${all}. Add the right bytes again: the pack file, or a check of the source.`,
  );
}
