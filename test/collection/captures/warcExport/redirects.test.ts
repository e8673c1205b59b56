import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { WARCParser } from 'warcio';
import { blobPath } from '../../../../server/store/files.ts';
import type { Retrieval } from '../../../../shared/collection/retrieval.ts';
import { ManualClock } from '../../../support/manualClock.ts';
import { closeScriptedWebs, page, ScriptedWeb } from '../../../support/network/scriptedWeb.ts';
import { closeTestNodes, temporaryFolder } from '../../../support/node.ts';
import { runHere } from '../../../support/runHere.ts';
import { http, record, response } from '../../../support/warcFiles.ts';
import { type CollectingNode, openCollectingNode } from '../../support.ts';
import { imported, sourceNamed } from '../support.ts';
import { checkRepeatedly, exported, recordsOf, sha256, typesOf } from './warcSupport.ts';

let clock: ManualClock;
let node: CollectingNode;
let web: ScriptedWeb;

beforeEach(async () => {
  clock = new ManualClock('2026-11-20T10:00:00.123Z');
  node = await openCollectingNode({}, { clock });
  web = await ScriptedWeb.open();
  web.script(
    '/old',
    page('Moved', {
      status: 302,
      headers: { Location: '/mid', 'Set-Cookie': 'session=hunter2', 'X-Why': 'new site' },
    }),
  );
  web.script('/mid', page('', { status: 301, headers: { Location: web.url('/new') } }));
  web.script('/new', page('levels'));
});
afterEach(async () => {
  await closeTestNodes();
  await closeScriptedWebs();
});

const checked = () => checkRepeatedly({ node, web, clock }, '/old', 1, {});

test('a retrieval keeps the headers of each redirect, without cookies, and the ledger covers them', async () => {
  const [retrieval] = await node.retrievals(await checked());
  expect(retrieval?.redirects).toMatchObject([
    {
      url: web.url('/old'),
      status: 302,
      headers: expect.arrayContaining([
        ['Location', '/mid'],
        ['X-Why', 'new site'],
      ]),
    },
    { url: web.url('/mid'), status: 301, headers: expect.arrayContaining([['Location', web.url('/new')]]) },
  ]);
  expect(JSON.stringify(retrieval)).not.toContain('hunter2');
  expect(await node.read('/api/ledger/verify')).toMatchObject({ ok: true, problems: [] });
});

test('a user name and password in the address of a redirect are neither kept nor exported', async () => {
  const to = web.url('/new').replace('http://', 'http://ada:hunter2@');
  web.script('/old', page('', { status: 302, headers: { Location: to, 'X-Next': to } }));
  const id = await checked();
  const [retrieval] = await node.retrievals(id);
  expect(retrieval?.redirects[0]?.headers).toEqual(
    expect.arrayContaining([
      ['Location', web.url('/new')],
      ['X-Next', web.url('/new')],
    ]),
  );
  expect(retrieval?.final_url).toBe(web.url('/new'));
  expect((await exported(node.node, `source=${id}`)).includes('hunter2')).toBe(false);
});

test('a dump holds the headers of redirects, and a restored archive has them', async () => {
  const id = await checked();
  const retrievals = await node.retrievals(id);
  expect(retrievals[0]?.redirects[0]?.headers).toContainEqual(['X-Why', 'new site']);
  const folder = await temporaryFolder();
  const dump = join(folder, 'dump.jsonl');
  await writeFile(dump, await (await node.node.fetch('/api/dump.jsonl')).text());
  const dataFolder = join(folder, 'again');
  expect(await runHere(['import', dump, '--data', dataFolder])).toMatchObject({ code: 0 });
  const again = await openCollectingNode({}, { dataFolder });
  expect(await again.retrievals(id)).toEqual(retrievals);
  expect(await again.read('/api/ledger/verify')).toMatchObject({ ok: true, problems: [] });
});

test('keeps only the Location of a redirect with too many headers', async () => {
  const headers = { Location: '/new', 'X-Long': 'x'.repeat(20_000) };
  web.script('/old', page('', { status: 302, headers }));
  const [retrieval] = await node.retrievals(await checked());
  expect(retrieval?.redirects[0]?.headers).toEqual([['Location', '/new']]);
});

test('an export has each redirect as a response at its own address, and warcio reads them', async () => {
  const file = await exported(node.node, `source=${await checked()}`);
  const records = await recordsOf(file);
  expect(typesOf(records)).toBe('warcinfo, response response response request metadata');
  expect(records.slice(1, 4).map((one) => [one.field('WARC-Target-URI'), one.head.split('\r\n')[0]])).toEqual(
    [
      [web.url('/old'), 'HTTP/1.1 302 Found'],
      [web.url('/mid'), 'HTTP/1.1 301 Moved Permanently'],
      [web.url('/new'), 'HTTP/1.1 200 OK'],
    ],
  );
  expect(records[1]?.head.split('\r\n')).toEqual(
    expect.arrayContaining(['Location: /mid', 'X-Crawler-Content-Length: 5']),
  );
  // The body of the first was not kept. That of the second was empty.
  expect(records[1]?.head).not.toMatch(/^Content-Length/m);
  const said = (name: string) => [1, 2].map((index) => records[index]?.field(name));
  expect(said('WARC-Payload-Digest')).toEqual([undefined, sha256('')]);
  expect(said('WARC-Truncated')).toEqual(['unspecified', undefined]);
  expect(new Set(records.map((one) => one.field('WARC-Record-ID'))).size).toBe(records.length);
  expect(file.includes('hunter2')).toBe(false);
  const found: unknown[] = [];
  for await (const one of new WARCParser([new Uint8Array(file)]))
    if (one.warcType === 'response') found.push(one.httpHeaders?.headers.get('location') ?? null);
  expect(found).toEqual(['/mid', web.url('/new'), null]);
});

test.each(['', 'gzip=true'])(
  'an import elsewhere has the object at the watched address (%s)',
  async (query) => {
    const whole = await exported(node.node, `source=${await checked()}&${query}`);
    const other = await openCollectingNode();
    expect(await imported(other, whole)).toMatchObject({ captures: 3, refused: [] });
    const [retrieval] = await other.retrievals((await sourceNamed(other, web.url('/old'))).id);
    expect(retrieval).toMatchObject({
      url: web.url('/old'),
      final_url: web.url('/new'),
      status: 200,
      error: null,
    });
    expect(retrieval?.redirects.map(({ url, status }) => [url, status])).toEqual([
      [web.url('/old'), 302],
      [web.url('/mid'), 301],
    ]);
    const gate = await other.node.fetch(`/timegate/${web.url('/old')}`);
    expect(await (await fetch(gate.headers.get('Location') ?? '')).text()).toBe('levels');
    expect(await imported(other, whole)).toMatchObject({ captures: 0, already_held: 3 });
    // The export of the import has the same redirects again.
    const again = await recordsOf(await exported(other.node, `source=${retrieval?.source}`));
    expect(again.slice(1, 4).map((one) => one.field('WARC-Target-URI'))).toEqual(
      ['/old', '/mid', '/new'].map((path) => web.url(path)),
    );
  },
);

test('an export has no redirects without the response that they lead to', async () => {
  const id = await checked();
  await rm(blobPath(node.node.dataFolder, sha256('levels').slice('sha256:'.length)));
  const records = await recordsOf(await exported(node.node, `source=${id}`));
  expect(typesOf(records)).toBe('warcinfo, metadata');
  expect(records[1]?.block.toString()).toContain(`redirects: 302 ${web.url('/old')} 301 ${web.url('/mid')}`);
});

test('a truncated redirect is refused if it leads to no capture', async () => {
  const block = http('', { status: 301, headers: { Location: '/new' } });
  const alone = record({ date: '2020-01-01T00:00:00Z', block, fields: { 'WARC-Truncated': 'length' } });
  expect(await imported(node, alone)).toMatchObject({
    captures: 0,
    refused: [{ reason: 'truncated', count: 1 }],
  });
  const whole = Buffer.concat([alone, target('2020-01-01T00:00:01Z')]);
  expect(await imported(node, whole)).toMatchObject({ captures: 2, refused: [] });
});

const moved = (to: string, date: string, body = '') =>
  record({ date, block: http(body, { status: 301, headers: { Location: to } }) });
const target = (date: string) => response('there', { uri: 'http://example.com/new', date });
const at = 'http://example.com/';

test.each<[string, Buffer[], [number | null, string | null][]]>([
  [
    'to a capture soon after it',
    [moved('/new', '2020-01-01T00:00:00Z'), target('2020-01-01T00:05:00Z')],
    [[200, null]],
  ],
  [
    'with a body',
    [moved('/new', '2020-01-01T00:00:00Z', 'Moved'), target('2020-01-01T00:00:01Z')],
    [
      [301, 'redirected'],
      [200, null],
    ],
  ],
  [
    'to a capture of another day',
    [moved('/new', '2020-01-01T00:00:00Z'), target('2020-01-02T00:00:00Z')],
    [[301, 'redirected']],
  ],
  [
    'to a capture before it',
    [moved('/new', '2020-01-01T00:00:01Z'), target('2020-01-01T00:00:00Z')],
    [[301, 'redirected']],
  ],
  ['to itself', [moved('/', '2020-01-01T00:00:00Z'), target('2020-01-01T00:00:00Z')], [[301, 'redirected']]],
  [
    'to no web page',
    [moved('javascript:alert(1)', '2020-01-01T00:00:00Z'), target('2020-01-01T00:00:00Z')],
    [[301, 'redirected']],
  ],
])('a captured redirect %s', async (_where, records, expected) => {
  await imported(node, Buffer.concat(records));
  const retrievals: Retrieval[] = await node.retrievals((await sourceNamed(node, at)).id);
  expect(retrievals.map(({ status, error }) => [status, error])).toEqual(expected);
});
