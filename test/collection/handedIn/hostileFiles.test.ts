import { access, readdir } from 'node:fs/promises';
import { request } from 'node:http';
import { dirname, join } from 'node:path';
import { load } from 'cheerio';
import { afterEach, expect, test } from 'vitest';
import type { HandIn } from '../../../shared/collection/handedIn.ts';
import type { ArchivedDraw } from '../../../shared/collection/page.ts';
import type { ObjectMetadata } from '../../../shared/collection/retrieval.ts';
import type { PageResources } from '../../../shared/collection/view.ts';
import { sha256Of } from '../../support/archive/packs.ts';
import { closeScriptedWebs, page, ScriptedWeb } from '../../support/network/scriptedWeb.ts';
import { closeTestNodes, type TestNode, temporaryFolder } from '../../support/node.ts';
import { PIXEL, savedPage } from '../../support/savedPages.ts';
import { openCollectingNode } from '../support.ts';
import { handIn, refusedWith, sendFile } from './support.ts';

afterEach(async () => {
  await closeTestNodes();
  await closeScriptedWebs();
});

const ADDRESS = 'https://mail.example/inbox';
const ROOT = { type: 'text/html', location: ADDRESS, content: '<html><p>Inbox</p></html>' };
const HEAD = `Snapshot-Content-Location: ${ADDRESS}\r\nContent-Type: multipart/related; boundary=B\r\n\r\n`;

async function refusal(node: TestNode, body: string | Buffer): Promise<[number, string, string]> {
  return refusedWith(await sendFile(node, Buffer.from(body), 'multipart/related'));
}

test('parts without end, fields without end, deep nesting and files that are cut off are refused, and leave nothing', async () => {
  const dataFolder = join(await temporaryFolder(), 'data');
  const node = await openCollectingNode({}, { dataFolder });
  const before = await bytesIn(dataFolder);
  const parts = Array.from(
    { length: 10_000 },
    (_, index) => `--B\r\nContent-Type: text/css\r\n\r\np${index}{}\r\n`,
  );
  const refused = [
    [`${HEAD}${parts.join('')}--B--\r\n`, 'more than 5000 parts'],
    [
      `${HEAD}--B\r\nContent-Type: text/html\r\nX: ${'x'.repeat(100_000)}\r\n\r\n\r\n--B--\r\n`,
      'more than 65536 bytes',
    ],
    [`${HEAD}--B\r\n${'X: x\r\n'.repeat(1_000)}\r\n\r\n--B--\r\n`, 'more than 200 fields'],
    [`${HEAD}${nested(100)}`, 'nested deeper than 8'],
    [`${HEAD}--B\r\nContent-Type: text/html\r\n\r\n<p>`, 'cut off'],
    [`${HEAD}--B\r\nContent-Type: text/html`, 'cut off'],
    [HEAD, 'cut off'],
    [`Content-Type: multipart/related\r\n\r\n--B\r\n`, 'no boundary'],
    [`Content-Type: multipart/related; boundary="${'b'.repeat(1_000)}"\r\n\r\n`, 'no boundary'],
    ['Content-Type: text/plain\r\n\r\nwords', 'not a multipart'],
    [`${HEAD}--B--\r\n`, 'no parts'],
  ] as const;
  for (const [body, words] of refused) {
    const [status, code, detail] = await refusal(node.node, body);
    expect([status, code], words).toEqual([422, 'invalid_capture']);
    expect(detail).toContain(words);
  }
  expect(await bytesIn(dataFolder)).toEqual(before);
  expect(await node.read('/manage/handed-in')).toMatchObject({ total: 0 });
});

/** Returns the files that hold received bytes. */
async function bytesIn(dataFolder: string): Promise<string[]> {
  const folders = await Promise.all(
    ['blobs', 'tmp'].map((name) => readdir(join(dataFolder, name), { recursive: true }).catch(() => [])),
  );
  return folders.flat();
}

function nested(depth: number): string {
  return Array.from(
    { length: depth },
    (_, level) =>
      `--${level === 0 ? 'B' : `b${level}`}\r\nContent-Type: multipart/mixed; boundary=b${level + 1}\r\n\r\n`,
  ).join('');
}

test('a file of 2 GB is refused when it is announced, and one of unknown length when it is too long', async () => {
  const node = await openCollectingNode();
  const announced = await new Promise<number>((resolve, reject) => {
    const sent = request(new URL('/manage/handed-in', node.node.url), {
      method: 'POST',
      headers: {
        Authorization: `Bearer ${node.node.token}`,
        'Content-Type': 'multipart/related',
        'Content-Length': '2000000000',
      },
    });
    sent.on('response', ({ statusCode = 0 }) => {
      resolve(statusCode);
      sent.destroy();
    });
    sent.on('error', reject);
    sent.write(HEAD);
  });
  expect(announced).toBe(413);
});

test('the names of parts are only names: nothing is read from them or written to them', async () => {
  const dataFolder = join(await temporaryFolder(), 'data');
  const node = await openCollectingNode({}, { dataFolder });
  const names = [
    '../../x',
    'file:///etc/passwd',
    'C:\\secret.txt',
    '//other.example/a',
    'javascript:alert(1)',
    'http://a:b@c.example/',
  ];
  const handed = await handIn(
    node.node,
    savedPage(ADDRESS, [
      ROOT,
      ...names.map((location, index) => ({ type: 'text/css', location, content: `p${index}{}` })),
    ]),
    'multipart/related',
  );
  expect(handed.parts.slice(1).map(({ name }) => name)).toEqual([
    'https://mail.example/x',
    'file:///etc/passwd',
    'c:\\secret.txt',
    'https://other.example/a',
    'javascript:alert(1)',
    'http://a:b@c.example/',
  ]);
  const parts = await node.read<{ items: { retrieval: { url: string } }[] }>(
    `/api/retrievals?part_of=${handed.id}`,
  );
  expect(parts.items.map(({ retrieval: { url } }) => url)).toEqual([
    ADDRESS,
    'https://mail.example/x',
    ADDRESS,
    ADDRESS,
    'https://other.example/a',
    ADDRESS,
    ADDRESS,
  ]);
  await expect(access(join(dirname(dataFolder), 'x'))).rejects.toThrow('ENOENT');
});

test('a part whose bytes cannot be decoded is listed without them; a document that cannot is refused', async () => {
  const node = await openCollectingNode();
  const broken = (type: string) =>
    `--B\r\nContent-Type: ${type}\r\nContent-Transfer-Encoding: base64\r\n\r\n####\r\n`;
  const html = '--B\r\nContent-Type: text/html\r\n\r\n<html><p>Text</p></html>\r\n';
  const handed = await handIn(
    node.node,
    Buffer.from(`${HEAD}${html}${broken('image/png')}--B--\r\n`),
    'message/rfc822',
  );
  expect(handed.parts.map(({ sha256, bytes }) => [sha256, bytes])).toEqual([
    [sha256Of('<html><p>Text</p></html>'), 24],
    [null, 0],
  ]);
  const [status, code] = await refusal(node.node, `${HEAD}${broken('text/html')}--B--\r\n`);
  expect([status, code]).toEqual([422, 'invalid_capture']);
});

test('what a file claims of another address never takes the place of what this node fetched', async () => {
  const web = await ScriptedWeb.open();
  const own =
    '<html><body><p>Shop</p><img src="/logo.png" alt="logo"><img src="/late.png" alt="late"></body></html>';
  const logo = Buffer.concat([PIXEL, Buffer.from('own')]);
  web.script('/', page(own, { headers: { 'Content-Type': 'text/html' } }));
  web.script('/logo.png', page(logo, { headers: { 'Content-Type': 'image/png' } }));
  const node = await openCollectingNode();
  await node.watch(web.url('/'));
  await node.watch(web.url('/logo.png'));
  await node.check();

  const said = { withheld: 'false' };
  const claimed = [
    { type: 'image/png', location: web.url('/logo.png'), content: PIXEL },
    { type: 'image/png', location: web.url('/late.png'), content: PIXEL },
    // The bytes that this node has, as something that runs.
    { type: 'text/html', location: 'https://mail.example/logo', content: logo },
  ];
  await handIn(node.node, savedPage(ADDRESS, [ROOT, ...claimed]), 'multipart/related', said);
  for (const path of ['/logo.png', '/late.png'])
    await handIn(node.node, PIXEL, 'image/png', { ...said, url: web.url(path) });
  await handIn(node.node, Buffer.from(own.replace('Shop', 'Forged')), 'text/html', {
    ...said,
    url: web.url('/'),
  });

  const shown = await (await node.node.fetch(`/archive/${sha256Of(own)}/page`)).text();
  const $ = load(shown);
  expect($('img[alt=logo]').attr('src')).toBe(`data:image/png;base64,${logo.toString('base64')}`);
  expect($('img[alt=late]').attr('data-strongroom-missing')).toBeDefined();
  const resources = await node.read<PageResources>(`/archive/${sha256Of(own)}/page/resources`);
  expect(resources.used.map(({ sha256 }) => sha256)).toEqual([sha256Of(logo)]);
  const bytes = await node.node.fetch(`/archive/${sha256Of(logo)}`);
  expect(bytes.headers.get('Content-Type')).toBe('image/png');

  const memento = await node.node.fetch(`/timegate/${web.url('/')}`);
  const latest = await (
    await node.node.fetch(new URL(memento.headers.get('Location') ?? '').pathname)
  ).text();
  expect(latest).toBe(own);
  expect((await node.node.fetch(`/timegate/${ADDRESS}`)).status).toBe(404);
  const drawn = await node.node.sendJson('POST', '/archive/draw', {
    url: web.url('/'),
    at: new Date().toISOString(),
  });
  expect(drawn.status, await drawn.clone().text()).toBe(200);
  const { requests } = (await drawn.json()) as ArchivedDraw;
  expect(new Map(requests.map(({ url, sha256 }) => [url, sha256]))).toEqual(
    new Map([
      [web.url('/'), sha256Of(own)],
      [web.url('/logo.png'), sha256Of(logo)],
      [web.url('/late.png'), null],
    ]),
  );
});

test('what others observed, too, stays shown', async () => {
  const web = await ScriptedWeb.open();
  web.script('/logo.png', page(PIXEL, { headers: { 'Content-Type': 'image/png' } }));
  const node = await openCollectingNode();
  await node.watch(web.url('/logo.png'));
  await node.check();
  const style = { type: 'text/css', location: '/own.css', content: 'p{}' };
  const handed: HandIn = await handIn(
    node.node,
    savedPage(ADDRESS, [ROOT, { type: 'image/png', location: '/logo.png', content: PIXEL }, style]),
    'multipart/related',
  );
  expect((await node.node.fetch(`/archive/${sha256Of(PIXEL)}`)).status).toBe(200);
  for (const sha256 of [handed.file.sha256, handed.document, sha256Of('p{}')])
    expect((await node.node.fetch(`/archive/${sha256}`)).status).toBe(451);
  const shown = await node.node.sendJson('DELETE', '/manage/withheld', { retrieval: handed.retrieval });
  expect(shown.status).toBe(200);
  for (const sha256 of [handed.file.sha256, handed.document, sha256Of('p{}')])
    expect((await node.node.fetch(`/archive/${sha256}`)).status).toBe(200);
  const metadata = await node.read<ObjectMetadata>(`/archive/${sha256Of('p{}')}/metadata`);
  expect(metadata.observers).toEqual([handed.observer]);
  await node.node.sendJson('POST', '/manage/withheld', {
    sha256: handed.file.sha256,
    reason: 'personal_data',
  });
  expect((await node.node.fetch(`/archive/${sha256Of('p{}')}`)).status).toBe(451);
});
