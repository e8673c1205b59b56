import fsPromises from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';

/*
 * Preloaded into a process with `--import`. Kills it at a step: before or after the rename or the removal of a file in a
 * folder. On request, also after a file is opened, or a folder created or removed.
 */
const folder = process.env.STRONGROOM_TEST_KILL_FOLDER ?? '';
const killAt = Number(process.env.STRONGROOM_TEST_KILL_AT);
const { rename, rm, open, mkdir, rmdir } = fsPromises;
let steps = 0;

function step(path: unknown): void {
  if (!String(path).startsWith(folder)) return;
  steps += 1;
  if (steps === killAt) process.kill(process.pid, 'SIGKILL');
}

fsPromises.rename = async (from, to) => {
  step(to);
  await rename(from, to);
  step(to);
};
fsPromises.rm = async (path, options) => {
  step(path);
  await rm(path, options);
  step(path);
};
if (process.env.STRONGROOM_TEST_KILL_EVERYWHERE === '1') {
  fsPromises.open = async (path, ...rest) => {
    const handle = await open(path, ...rest);
    step(path);
    return handle;
  };
  fsPromises.mkdir = (async (path: string, options: object) => {
    const made = await mkdir(path, options);
    step(path);
    return made;
  }) as typeof mkdir;
  fsPromises.rmdir = async (path, ...rest) => {
    await rmdir(path, ...rest);
    step(path);
  };
}
syncBuiltinESMExports();
