import { execFile } from 'node:child_process';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { requirePrograms, requireThat } from '../support/requirements.ts';

const execute = promisify(execFile);
const SCRIPT = resolve(import.meta.dirname, 'drawOnce.ts');
const isRoot = process.getuid?.() === 0;
const isSupported = process.platform === 'linux' && process.arch === 'x64';

/** Takes away, in a mount namespace, what only a machine with a browser has: its libraries and all fonts. */
const MADE_BARE = `
  for library in libnspr4 libnss3 libnssutil3 libplc4 libplds4 libsoftokn3 libfreebl3 libexpat; do
    for file in $(find /usr/lib /lib -name "$library.so*" -type f 2>/dev/null); do mount --bind /dev/null "$file"; done
  done
  for folder in /etc/fonts /usr/share/fonts /usr/local/share/fonts; do
    if [ -d "$folder" ]; then mount -t tmpfs none "$folder"; fi
  done`;

const AS_NOBODY = 'setpriv --reuid=65534 --regid=65534 --clear-groups';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'strongroom-bare-'));
  await chmod(folder, 0o777);
});
afterEach(async () => rm(folder, { recursive: true, force: true }));

/** Draws a page on a machine without a browser, as root or as nobody. */
async function drawBare(user: 'root' | 'nobody') {
  const starter = user === 'root' ? '' : AS_NOBODY;
  const command = `${MADE_BARE}\nexec ${starter} env -i PATH=/nowhere HOME="$1" TMPDIR="$1" "$2" "$3"`;
  const { stdout } = await execute(
    'unshare',
    ['--mount', 'sh', '-ec', command, 'sh', folder, process.execPath, SCRIPT],
    { timeout: 200_000 },
  );
  return JSON.parse(stdout) as { executable: string; text: string; picture: number; renderers: string[] };
}

test('a page is drawn where no browser, none of its libraries and no font was ever installed', async ({
  skip,
}) => {
  requireThat(isSupported && isRoot, 'Run this test as root on Linux (x64).', skip);
  await requirePrograms(['unshare'], skip);
  const { executable, text, picture } = await drawBare('root');
  expect(executable.startsWith(folder)).toBe(true);
  expect(text).toBe('Drawn by script.\n');
  // A page without a font is white.
  expect(picture).toBeGreaterThan(4_000);
});

test('the packaged browser draws in its sandbox if the node does not run as root', async ({ skip }) => {
  requireThat(isSupported && isRoot, 'Run this test as root on Linux (x64).', skip);
  await requirePrograms(['unshare', 'setpriv'], skip);
  const confines = await execute('sh', [
    '-c',
    `${AS_NOBODY} sh -c 'test -r "$0" && test -x "$1" && unshare --user true' "$0" "$1"`,
    SCRIPT,
    process.execPath,
  ]).then(
    () => true,
    () => false,
  );
  requireThat(confines, 'Let users make user namespaces, and read this checkout, to run this test.', skip);
  const { text, renderers } = await drawBare('nobody');
  expect(text).toBe('Drawn by script.\n');
  expect(new Set(renderers)).toEqual(new Set(['2']));
});
