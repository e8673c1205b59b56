import { existsSync } from 'node:fs';
import { chmod, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { findBrowser, packagedVariables } from '../../server/browser/chromium.ts';
import { requireThat } from '../support/requirements.ts';
import { gateTo, openBrowser } from './support.ts';

const isSupported = process.platform === 'linux' && process.arch === 'x64';

let folder: string;
/** One cache for all tests, because unpacking takes seconds. */
let cache: string;
beforeAll(async () => {
  cache = await mkdtemp(join(tmpdir(), 'strongroom-browser-cache-'));
});
afterAll(() => rm(cache, { recursive: true, force: true }));

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'strongroom-packaged-browser-'));
  // A machine with no browser installed and none named.
  vi.stubEnv('STRONGROOM_BROWSER', undefined);
  vi.stubEnv('PATH', folder);
  vi.stubEnv('XDG_CACHE_HOME', cache);
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await rm(folder, { recursive: true, force: true });
});

test('the packaged browser is unpacked once, also by two at once, and nothing unfinished is left', async ({
  skip,
}) => {
  requireThat(isSupported, 'The packaged browser runs on Linux (x64).', skip);
  expect(await readdir(cache)).toEqual([]);
  const [first, second] = await Promise.all([findBrowser(), findBrowser()]);
  expect(second).toBe(first);
  expect(await findBrowser()).toBe(first);
  expect(await readdir(join(cache, 'strongroom'))).toHaveLength(1);
  expect(existsSync(join(dirname(String(first)), 'lib/libnss3.so'))).toBe(true);
  expect(existsSync(join(dirname(String(first)), 'fonts/Open_Sans/OpenSans-Regular.ttf'))).toBe(true);
});

test('where no browser is installed, pages are drawn by the one that npm installed', async ({ skip }) => {
  requireThat(isSupported, 'The packaged browser runs on Linux (x64).', skip);
  const executable = String(await findBrowser());
  expect(executable.startsWith(join(cache, 'strongroom/'))).toBe(true);
  expect(packagedVariables(executable)).toMatchObject({ LD_LIBRARY_PATH: join(dirname(executable), 'lib') });
  const browser = await openBrowser();
  try {
    const page = await browser.draw(
      gateTo('<title>T</title><p id="p"></p><script>p.textContent = "Drawn by script."</script>'),
    );
    expect(page).toMatchObject({ title: 'T', text: 'Drawn by script.\n', outcome: 'complete' });
    expect(page.picture.length).toBeGreaterThan(1_000);
  } finally {
    await browser.close();
  }
});

test('an installed browser comes first, and a named one before it; `none` means none', async () => {
  const installed = join(folder, 'chromium');
  await writeFile(installed, '');
  await chmod(installed, 0o755);
  if (process.platform === 'linux') expect(await findBrowser()).toBe(installed);
  const named = join(folder, 'another');
  await writeFile(named, '');
  await chmod(named, 0o755);
  vi.stubEnv('STRONGROOM_BROWSER', named);
  expect(await findBrowser()).toBe(named);
  vi.stubEnv('STRONGROOM_BROWSER', join(folder, 'missing'));
  expect(await findBrowser()).toBeNull();
  vi.stubEnv('STRONGROOM_BROWSER', 'none');
  expect(await findBrowser()).toBeNull();
});
