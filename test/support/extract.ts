import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { openZip } from '../../server/zip/openZip.ts';

const execute = promisify(execFile);

/** Programs that extract a ZIP into the current folder, with their arguments. */
export const EXTRACTORS: Record<string, (zip: string) => string[]> = {
  unzip: (zip) => ['-q', zip],
  python3: (zip) => ['-m', 'zipfile', '-e', zip, '.'],
  bsdtar: (zip) => ['-xf', zip],
  '7z': (zip) => ['x', zip],
  jar: (zip) => ['xf', zip],
};

/** Runs a program; rejects with its output if it fails. */
export async function run(program: string, args: string[], cwd: string): Promise<string> {
  const { stdout } = await execute(program, args, { cwd });
  return stdout;
}

/** Extracts a ZIP in this process. */
export async function extract(zip: string, folder: string): Promise<void> {
  const opened = await openZip(zip, { maxEntries: 100_000, maxBytes: 1_000_000_000 });
  for (const member of opened.members) {
    const { name, folder: isFolder } = member;
    await mkdir(join(folder, isFolder ? name : dirname(name)), { recursive: true });
    if (!isFolder) await writeFile(join(folder, name), member.read());
  }
  await opened.close();
}
