import fs, { type NoParamCallback, type PathLike } from 'node:fs';
import fsPromises, { type FileHandle } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import type { DiskRule } from './controlledDisk.ts';

/*
 * Preloaded into a node and its threads with `--import`. Logs each sync, rename and query of free space, and lets a call
 * wait or fail while the test says so. SQLite's own calls do not pass through here.
 */
const control = process.env.STRONGROOM_TEST_DISK ?? '';
const [ruleFile, logFile] = [join(control, 'rule.json'), join(control, 'calls')];
const { appendFileSync, fdatasync, fdatasyncSync, fsync, openSync, readFileSync } = fs;
const { renameSync, statfsSync } = fs;
const { open, rename } = fsPromises;
const POLL_MS = 2;

const pathOf = new Map<number, string>();
let waited = 0;

function ruleFor(call: string, path: string): DiskRule | undefined {
  let text: string;
  try {
    text = readFileSync(ruleFile, 'utf8');
  } catch (error) {
    // The test ended the rule.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
  const rule = JSON.parse(text) as DiskRule;
  return rule.call === call && path.endsWith(rule.path) ? rule : undefined;
}

/** Logs a call. @throws the error of a rule for it */
function begin(call: string, path: string): DiskRule | undefined {
  appendFileSync(logFile, `${call} ${path}\n`);
  const rule = ruleFor(call, path);
  if (rule?.code) throw Object.assign(new Error(`${rule.code}: reported by the disk`), { code: rule.code });
  return rule;
}

/** Resolves when the rule for this call is gone or lets this many calls pass. */
async function ready(call: string, path: string): Promise<void> {
  if (!begin(call, path)) return;
  waited += 1;
  const turn = waited;
  const isHeld = () => (ruleFor(call, path)?.passes ?? Number.POSITIVE_INFINITY) < turn;
  while (isHeld()) await new Promise((resolve) => setTimeout(resolve, POLL_MS));
}

/** A sync with a callback, as a sync of a file or of a folder. */
function controlled(sync: (descriptor: number, callback: NoParamCallback) => void) {
  const begun = async (descriptor: number, callback: NoParamCallback) => {
    try {
      await ready('sync', pathOf.get(descriptor) ?? '');
    } catch (error) {
      callback(error as NodeJS.ErrnoException);
      return;
    }
    sync(descriptor, callback);
  };
  return (descriptor: number, callback: NoParamCallback) => void begun(descriptor, callback);
}

function opened(...args: Parameters<typeof openSync>): number {
  const descriptor = openSync(...args);
  pathOf.set(descriptor, String(args[0]));
  return descriptor;
}

async function openedHandle(...args: Parameters<typeof open>): Promise<FileHandle> {
  const handle = await open(...args);
  const path = String(args[0]);
  for (const name of ['sync', 'datasync'] as const) {
    const sync = handle[name].bind(handle);
    handle[name] = async () => {
      await ready('sync', path);
      await sync();
    };
  }
  return handle;
}

Object.assign(fs, {
  openSync: opened,
  fsync: controlled(fsync),
  fdatasync: controlled(fdatasync),
  fdatasyncSync: (descriptor: number) => {
    begin('sync', pathOf.get(descriptor) ?? '');
    fdatasyncSync(descriptor);
  },
  renameSync: (from: PathLike, to: PathLike) => {
    begin('rename', String(to));
    renameSync(from, to);
  },
  statfsSync: (path: PathLike) => {
    begin('statfs', String(path));
    return statfsSync(path);
  },
});
Object.assign(fsPromises, {
  open: openedHandle,
  rename: async (from: PathLike, to: PathLike) => {
    await ready('rename', String(to));
    await rename(from, to);
  },
});
syncBuiltinESMExports();
