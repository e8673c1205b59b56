import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { isDataPath, PAGE_PATHS } from '../../shared/node/pages.ts';
import { ROUTE_SPECS } from '../../shared/routes.ts';
import { uploadNewPack } from '../support/archive/packs.ts';
import { closeTestNodes, openTestNode, temporaryFolder } from '../support/node.ts';

afterEach(closeTestNodes);

const BROWSER = { headers: { Accept: 'text/html,application/xhtml+xml,*/*;q=0.8' } };

async function nodeWithInterface() {
  const rendererFolder = join(await temporaryFolder(), 'renderer');
  await mkdir(rendererFolder);
  await writeFile(join(rendererFolder, 'index.html'), '<!doctype html><title>Strongroom</title>');
  return openTestNode({ rendererFolder });
}

describe('the HTML document of the web interface', () => {
  test('is sent for the path of every page, including those of single packs and nodes', async () => {
    const node = await nodeWithInterface();
    const pack = await uploadNewPack(node);
    for (const path of ['/', '/packs', `/packs/${pack.id}`, '/assemble', '/nodes/a/b/c', '/settings']) {
      const response = await node.fetch(path, BROWSER);
      expect(response.status, path).toBe(200);
      expect(await response.text()).toMatch(/<title>(.* · )?Strongroom<\/title>/);
    }
  });

  test('is sent with 404 for a pack, study, source or event that does not exist', async () => {
    const node = await nodeWithInterface();
    const pack = await uploadNewPack(node);
    const paths = ['/packs/pk_0', `/studies/${pack.id}`, '/sources/so_0', '/timeline/7', '/timeline/x'];
    for (const path of paths) {
      const response = await node.fetch(path, BROWSER);
      expect([response.status, response.headers.get('Cache-Control')], path).toEqual([404, 'no-store']);
      expect(await response.text()).toContain('<title>Strongroom</title>');
    }
  });

  test('is revalidated by its entity tag, which changes with what is said of the page', async () => {
    const node = await nodeWithInterface();
    const pack = await uploadNewPack(node);
    const first = await node.fetch(`/packs/${pack.id}`, BROWSER);
    const etag = first.headers.get('ETag') ?? '';
    const ask = () =>
      node.fetch(`/packs/${pack.id}`, { headers: { ...BROWSER.headers, 'If-None-Match': etag } });
    expect((await ask()).status).toBe(304);
    await uploadNewPack(node, { title: 'Second version', supersedes: pack.id });
    expect((await ask()).status).toBe(200);
  });

  test('is sent with 404 to browsers at other paths; programs get the problem', async () => {
    const node = await nodeWithInterface();
    const lost = await node.fetch('/no/such/page', BROWSER);
    expect(lost.status).toBe(404);
    expect(lost.headers.get('Content-Type')).toContain('text/html');
    expect((await node.fetch('/no/such/page', { ...BROWSER, method: 'HEAD' })).status).toBe(404);
    const program = await node.fetch('/no/such/page');
    expect(program.status).toBe(404);
    expect(await program.json()).toMatchObject({ code: 'not_found' });
  });

  test('is never sent for data: browsers get problems from /api, /archive, /manage and /assets too', async () => {
    const node = await nodeWithInterface();
    for (const path of ['/api/nothing', '/archive/nothing/more', '/manage/nothing', '/assets/nothing.js']) {
      const response = await node.fetchAsOwner(path, BROWSER);
      expect(response.status, path).toBe(404);
      expect(await response.json(), path).toMatchObject({ code: 'not_found' });
    }
  });
});

test('a built file is sent compressed, with its length and for a year, and as it is if asked', async () => {
  const rendererFolder = join(await temporaryFolder(), 'renderer');
  await mkdir(join(rendererFolder, 'assets'), { recursive: true });
  const script = 'export const word = "Strongroom";\n'.repeat(200);
  await writeFile(join(rendererFolder, 'assets/page-A1b2.js'), script);
  const node = await openTestNode({ rendererFolder });
  const ask = (headers: Record<string, string>) => node.fetchAsOwner('/assets/page-A1b2.js', { headers });
  for (const _ of ['compressed', 'kept']) {
    const sent = await ask({ 'Accept-Encoding': 'gzip, br' });
    expect(sent.headers.get('Content-Encoding')).toBe('br');
    expect(sent.headers.get('Content-Type')).toMatch(/javascript/);
    expect(sent.headers.get('Cache-Control')).toBe('public, max-age=31536000, immutable');
    expect(sent.headers.get('Vary')).toMatch(/Accept-Encoding/i);
    expect(Number(sent.headers.get('Content-Length'))).toBeLessThan(script.length / 10);
    expect(await sent.text()).toBe(script);
  }
  const plain = await ask({ 'Accept-Encoding': 'identity' });
  expect(plain.headers.get('Content-Encoding')).toBeNull();
  expect(plain.headers.get('Vary')).toMatch(/Accept-Encoding/i);
  expect(await plain.text()).toBe(script);
  const part = await ask({ 'Accept-Encoding': 'br', Range: 'bytes=0-5' });
  expect([part.status, await part.text()]).toEqual([206, 'export']);
});

test('every route of the table is a data path, so the desktop window never shows it as a page', () => {
  expect(
    Object.values(ROUTE_SPECS)
      .map(({ path }) => path)
      .filter((path) => !isDataPath(path)),
  ).toEqual([]);
  expect(PAGE_PATHS.filter((path) => isDataPath(path))).toEqual([]);
});

test('while the interface is not built, sign-in links in a browser are not used up, and each page says what to do', async () => {
  const rendererFolder = join(await temporaryFolder(), 'renderer');
  const node = await openTestNode({ rendererFolder });
  const link = new URL(node.createSignInLink()).pathname;
  for (const path of ['/', '/packs', '/no/such/page', link]) {
    const response = await node.fetch(path, BROWSER);
    expect(response.status, path).toBe(503);
    expect(await response.json()).toMatchObject({
      code: 'interface_missing',
      detail: expect.stringContaining('npm run build'),
    });
  }
  await mkdir(rendererFolder);
  await writeFile(join(rendererFolder, 'index.html'), '<!doctype html><title>Strongroom</title>');
  const signedIn = await node.fetch(link, BROWSER);
  expect([signedIn.status, signedIn.headers.get('Location')]).toEqual([
    303,
    expect.stringMatching(/^\/#sign-in=/),
  ]);
  expect((await node.fetch(link, BROWSER)).status).toBe(403);
});

test('a program can open the sign-in link even without the interface', async () => {
  const node = await openTestNode({ rendererFolder: join(await temporaryFolder(), 'renderer') });
  expect((await node.fetch(new URL(node.createSignInLink()).pathname)).status).toBe(303);
});
