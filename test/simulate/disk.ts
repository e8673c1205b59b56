import fs, { type NoParamCallback, type PathLike } from 'node:fs';
import fsPromises from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';

/*
 * A disk that fails, or a process that is killed, at the n-th call that makes something durable: a sync, a rename or a
 * removal. Imported by the simulator, it acts on the node in this process. Preloaded with `--import` into a process of its
 * own and its threads, it reads what to do from a file.
 */
export interface Fault {
  /** Only calls below this folder count. */
  folder: string;
  /** The number of the first call that fails. */
  at: number;
  does: 'kill' | 'EIO' | 'ENOSPC';
  /** How many calls fail from there on. */
  times: number;
}

const control = process.env.STRONGROOM_SIMULATED_FAULT;
const pathOf = new Map<number, string>();
const { appendFileSync, existsSync, fsync, fsyncSync, fdatasync, fdatasyncSync, openSync } = fs;
const { readFileSync, renameSync, statSync } = fs;
const { open, rename, rm, unlink } = fsPromises;
let armed: Fault | undefined;
let calls = 0;

/** From now on, the disk of this process behaves so. */
export function breakDisk(fault: Fault): void {
  armed = fault;
  calls = 0;
}

/** The disk works again. Returns how many calls were counted. */
export function mendDisk(): number {
  armed = undefined;
  return calls;
}

/** What a preloaded process is to do. Its threads count together, by the length of a file. */
function ordered(): Fault | undefined {
  if (control === undefined || !existsSync(join(control, 'fault.json'))) return undefined;
  return JSON.parse(readFileSync(join(control, 'fault.json'), 'utf8')) as Fault;
}

function count(): number {
  if (control === undefined) return (calls += 1);
  const file = join(control, 'calls');
  appendFileSync(file, '.');
  return statSync(file).size;
}

function step(path: unknown): void {
  const fault = control === undefined ? armed : ordered();
  if (fault === undefined || !String(path).startsWith(fault.folder)) return;
  const number = count();
  if (number < fault.at || number >= fault.at + fault.times) return;
  if (fault.does === 'kill') process.kill(process.pid, 'SIGKILL');
  else throw Object.assign(new Error(`${fault.does}: the disk failed`), { code: fault.does });
}

function stepped(sync: (descriptor: number, callback: NoParamCallback) => void) {
  return (descriptor: number, callback: NoParamCallback) => {
    try {
      step(pathOf.get(descriptor));
    } catch (error) {
      process.nextTick(callback, error as NodeJS.ErrnoException);
      return;
    }
    sync(descriptor, callback);
  };
}

function steppedSync(sync: (descriptor: number) => void) {
  return (descriptor: number) => {
    step(pathOf.get(descriptor));
    sync(descriptor);
  };
}

Object.assign(fs, {
  openSync: (...args: Parameters<typeof openSync>) => {
    const descriptor = openSync(...args);
    pathOf.set(descriptor, String(args[0]));
    return descriptor;
  },
  fsync: stepped(fsync),
  fdatasync: stepped(fdatasync),
  fsyncSync: steppedSync(fsyncSync),
  fdatasyncSync: steppedSync(fdatasyncSync),
  renameSync: (from: PathLike, to: PathLike) => {
    step(to);
    renameSync(from, to);
  },
});
fsPromises.open = async (...args) => {
  const handle = await open(...args);
  for (const name of ['sync', 'datasync'] as const) {
    const sync = handle[name].bind(handle);
    handle[name] = async () => {
      step(args[0]);
      await sync();
    };
  }
  return handle;
};
fsPromises.rename = async (from, to) => {
  step(to);
  await rename(from, to);
};
fsPromises.rm = async (path, options) => {
  step(path);
  await rm(path, options);
};
fsPromises.unlink = async (path) => {
  step(path);
  await unlink(path);
};
syncBuiltinESMExports();
