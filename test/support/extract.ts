import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { openZip } from '../../server/archive/packs/zip/openZip.ts';

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

/** Extracts a ZIP with no program but this one. */
export async function extract(zip: string, folder: string): Promise<void> {
  const opened = await openZip(zip, { maxEntries: 100_000, maxBytes: 1_000_000_000 });
  for (const member of opened.members) {
    const { name, folder: isFolder } = member;
    await mkdir(join(folder, isFolder ? name : dirname(name)), { recursive: true });
    if (!isFolder) await writeFile(join(folder, name), member.read());
  }
  await opened.close();
}
