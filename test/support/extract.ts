import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const execute = promisify(execFile);

/** Programs that extract a ZIP into the folder they run in. */
export const EXTRACTORS: Record<string, (zip: string) => string[]> = {
  unzip: (zip) => ['-q', zip],
  python3: (zip) => ['-m', 'zipfile', '-e', zip, '.'],
  bsdtar: (zip) => ['-xf', zip],
  '7z': (zip) => ['x', zip],
  jar: (zip) => ['xf', zip],
};

/** Runs a program; rejects with what it printed where it fails. */
export async function run(program: string, args: string[], cwd: string): Promise<string> {
  const { stdout } = await execute(program, args, { cwd });
  return stdout;
}

/** Whether a program is on this machine. */
export async function isInstalled(program: string): Promise<boolean> {
  try {
    await execute(process.platform === 'win32' ? 'where' : 'which', [program]);
    return true;
  } catch {
    return false;
  }
}
