import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PNG } from 'pngjs';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { findBrowser } from '../../server/browser/chromium.ts';
import type { ArchivedDraw, PageCapture } from '../../shared/collection/page.ts';
import type { CommandResult } from '../support/cli.ts';
import { page as answer, closeScriptedWebs, ScriptedWeb } from '../support/network/scriptedWeb.ts';
import { closeTestNodes, openTestNode, temporaryFolder } from '../support/node.ts';
import { runHere } from '../support/runHere.ts';

afterEach(async () => {
  vi.unstubAllEnvs();
  await closeTestNodes();
  await closeScriptedWebs();
});

const HTML = { headers: { 'Content-Type': 'text/html; charset=utf-8' } };
const PAGE = '<title>Fees</title><p id="p"></p><script>p.textContent = "The fee is " + 6 * 2;</script>';

/** A web with a page drawn by script. */
async function openWeb(): Promise<{ web: ScriptedWeb; url: string }> {
  const web = await ScriptedWeb.open();
  web.script('/', answer(PAGE, HTML));
  web.script('/file', answer('just a file', { headers: { 'Content-Type': 'text/plain' } }));
  return { web, url: web.url('/') };
}

/** An archive that has the page twice, what the command said first, and the second capture. The web is closed. */
let kept: string;
let there: string[];
let url: string;
let said: CommandResult;
let captured: PageCapture;
beforeAll(async () => {
  kept = await mkdtemp(join(tmpdir(), 'strongroom-test-'));
  there = ['--data', join(kept, 'data')];
  ({ url } = await openWeb());
  said = await runHere(['page', url, ...there]);
  captured = await capture(url, there);
  await closeScriptedWebs();
});
afterAll(() => rm(kept, { recursive: true }));

async function capture(url: string, there: readonly string[]): Promise<PageCapture> {
  const { code, stdout, stderr } = await runHere(['page', url, ...there, '--json']);
  expect([code, stderr]).toEqual([0, '']);
  return JSON.parse(stdout) as PageCapture;
}

async function newFile(): Promise<string> {
  return join(await temporaryFolder(), 'page.png');
}

describe('strongroom page', () => {
  test('captures an address and prints its digests', async () => {
    expect([said.code, said.stderr]).toEqual([0, '']);
    expect(said.stdout.split('\n')).toEqual([
      expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/ was captured as pg_[0-9a-f]{20}\.$/),
      expect.stringMatching(/^document {2}[0-9a-f]{64}$/),
      expect.stringMatching(/^text {6}[0-9a-f]{64}$/),
      expect.stringMatching(/^picture {3}[0-9a-f]{64}$/),
      '1 request, 0 of them without an answer.',
      '',
    ]);
    expect(captured).toMatchObject({ url, title: 'Fees', outcome: 'complete' });
  });

  test('exits with 1 where there is no page, or no browser, and says why', async () => {
    const { web, url } = await openWeb();
    const noPage = await runHere(['page', web.url('/file'), ...there]);
    expect(noPage).toMatchObject({ code: 1, stdout: '' });
    expect(noPage.stderr).toContain('is not an HTML page');
    vi.stubEnv('STRONGROOM_BROWSER', 'none');
    const noBrowser = await runHere(['page', url, ...there, '--json']);
    expect(noBrowser.code).toBe(1);
    expect(JSON.parse(noBrowser.stdout)).toEqual({ ok: false, sentence: expect.stringContaining('browser') });
  });

  test('exits with 2 if it is used wrongly', async () => {
    for (const args of [[], ['nonsense'], ['https://a.example/', 'https://b.example/']]) {
      const { code, stderr } = await runHere(['page', ...args, ...there]);
      expect(code).toBe(2);
      expect(stderr.trimEnd().split('\n')).toHaveLength(1);
    }
  });
});

describe('strongroom draw', () => {
  test('draws a page capture again with no web, and says that it is the same', async () => {
    const file = await newFile();
    const { code, stdout, stderr } = await runHere(['draw', captured.id, '-o', file, ...there]);
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(/The picture is the same\.\nThe text is the same\.\n$/);
    const { width, height } = PNG.sync.read(await readFile(file));
    expect([width, height]).toEqual([1280, 800]);
  });

  test('exits with 1 if the page is not the same', async () => {
    const { web } = await openWeb();
    web.script('/agent', answer('<p id="p"></p><script>p.textContent = navigator.userAgent</script>', HTML));
    const { id } = await capture(web.url('/agent'), there);
    const other = join(await temporaryFolder(), 'chromium');
    await writeFile(other, `#!/bin/sh\nexec '${await findBrowser()}' "$@" --user-agent=Another\n`);
    await chmod(other, 0o755);
    vi.stubEnv('STRONGROOM_BROWSER', other);
    const { code, stdout } = await runHere(['draw', id, '-o', await newFile(), ...there]);
    expect(code).toBe(1);
    // Where only the packaged browser is there, the other one has another environment, and that is said between them.
    expect(stdout).toContain('The picture is not the same.\nThe text is not the same.\n');
    expect(stdout).toContain('The text differs from line 1 on.\nThe picture differs.\n');
  });

  test('draws an address as it was at a time, which is compared with nothing', async () => {
    const args = ['draw', url, '--at', '2014-01-31', '-o', await newFile(), ...there, '--json'];
    const { code, stdout } = await runHere(args);
    expect(code).toBe(0);
    const drawn = JSON.parse(stdout) as ArchivedDraw;
    expect(drawn).toMatchObject({ text: captured.text, at: '2014-01-31T00:00:00.000Z', same_picture: null });
    expect(drawn.requests.map(({ from }) => from)).toEqual(['archive']);
  });

  test('exits with 2 if it is used wrongly, or the archive has nothing to draw', async () => {
    const { id } = captured;
    const taken = await newFile();
    await writeFile(taken, '');
    const file = await newFile();
    for (const args of [
      [id],
      ['-o', file],
      [id, '-o', taken],
      [id, '--at', '2014-01-31', '-o', file],
      [url, '--at', 'yesterday', '-o', file],
      [url, '--at', '2014-01-31T12:00', '-o', file],
      ['pg_00000000000000000000', '-o', file],
      [`${url}elsewhere`, '-o', file],
    ]) {
      const { code, stderr } = await runHere(['draw', ...args, ...there]);
      expect(code, args.join(' ')).toBe(2);
      expect(stderr.trimEnd().split('\n')).toHaveLength(1);
    }
  });
});

test('`page`, `draw` and `watch --page` use the node that has the data folder open', async () => {
  const { web, url } = await openWeb();
  const node = await openTestNode();
  const there = ['--data', node.dataFolder];
  const { id, picture } = await capture(url, there);
  const file = await newFile();
  const drawn = await runHere(['draw', id, '-o', file, ...there, '--json']);
  expect(drawn.code).toBe(0);
  expect(JSON.parse(drawn.stdout)).toMatchObject({ drawn_from: id, picture, same_picture: true, file });
  expect(PNG.sync.read(await readFile(file)).width).toBe(1280);
  expect((await runHere(['page', web.url('/file'), ...there])).code).toBe(1);
  web.script('/watched', answer(PAGE, HTML));
  expect((await runHere(['watch', web.url('/watched'), '--page', ...there])).code).toBe(0);
  const { items } = (await (await node.fetch('/api/sources')).json()) as {
    items: { url: string }[];
  };
  expect(items.find((source) => source.url === web.url('/watched'))).toMatchObject({ capture: 'page' });
});

test('`watch --page` makes page sources of URLs and of lists that do not say it', async () => {
  const there = ['--data', join(await temporaryFolder(), 'data')];
  const list = join(await temporaryFolder(), 'list.csv');
  await writeFile(
    list,
    'url,capture\nhttps://b.example/,object\nhttps://c.example/,\nhttps://d.example/,PAGE\n',
  );
  await runHere(['watch', 'https://a.example/', '--page', ...there]);
  expect((await runHere(['watch', '--list', list, '--page', ...there])).code).toBe(0);
  const node = await openTestNode({ dataFolder: String(there[1]) });
  const { items } = (await (await node.fetch('/api/sources')).json()) as {
    items: { url: string; capture: string }[];
  };
  expect(Object.fromEntries(items.map(({ url, capture: mode }) => [url, mode]))).toEqual({
    'https://a.example/': 'page',
    'https://b.example/': 'object',
    'https://c.example/': 'page',
    'https://d.example/': 'page',
  });
});
