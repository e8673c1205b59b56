import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  buildEvidenceScript,
  EVIDENCE_SCRIPT,
  EVIDENCE_STYLE,
  readEvidenceStyle,
} from '../../../renderer/inlineScripts.ts';
import { nodeCrypto } from '../../../server/ledger/checkpoint.ts';
import type { Event } from '../../../shared/collection/event.ts';
import type { ArchivedDraw, PageCapture, PageList } from '../../../shared/collection/page.ts';
import type { ObjectMetadata, ProvenRetrievals } from '../../../shared/collection/retrieval.ts';
import type { Copy } from '../../../shared/node/copy.ts';
import { checkEvidence } from '../../../shared/proof/evidence/checkEvidence.ts';
import type { Evidence } from '../../../shared/proof/evidence/evidence.ts';
import { release } from '../../copies/withheldCopies.ts';
import { altered, inRecord, member, parseLines, refusal, withTrailer } from '../../dump/dumpLines.ts';
import { expectNoForgeryIntact } from '../../evidence/support.ts';
import { addPeer, expectVerified, mirror } from '../../peers/support.ts';
import { page as answer, closeScriptedWebs, ScriptedWeb } from '../../support/network/scriptedWeb.ts';
import { closeTestNodes, openTestNode, type TestNode, temporaryFolder } from '../../support/node.ts';
import { runHere } from '../../support/runHere.ts';
import { alter, problems } from '../record/alteredArchive.ts';
import { type CollectingNode, openCollectingNode } from '../support.ts';

const HTML = { headers: { 'content-type': 'text/html; charset=utf-8' } };
const SHOP = `<!doctype html><html><head><title>Shop</title></head><body><h1>Prices</h1><p id="price"></p>
  <script>fetch('/price', { method: 'POST', body: 'which=bread' }).then((answer) => answer.text())
    .then((text) => { document.getElementById('price').textContent = text; });</script></body></html>`;
const BODY = 'which=bread';

let own: string;
let rendererFolder: string;
let node: CollectingNode;
let source: string;
let url: string;
/** Both captures, newest first: the price changed in between. */
let pages: PageCapture[];

beforeAll(async () => {
  own = await temporaryFolder();
  rendererFolder = join(own, 'renderer');
  await mkdir(join(rendererFolder, 'evidence'), { recursive: true });
  await writeFile(join(rendererFolder, EVIDENCE_SCRIPT), await buildEvidenceScript());
  await writeFile(join(rendererFolder, EVIDENCE_STYLE), await readEvidenceStyle());
  const web = await ScriptedWeb.open();
  web.script('/', answer(SHOP, HTML));
  web.script('/price', answer('Bread costs 2.10'), answer('Bread costs 2.40'));
  node = await openCollectingNode({}, { dataFolder: join(own, 'data'), rendererFolder });
  url = web.url('/');
  source = (await node.watch(url, { capture: 'page' })).id;
  await node.check();
  await node.check();
  pages = await pagesOf(node.node);
}, 60_000);
afterAll(async () => {
  await closeTestNodes();
  await closeScriptedWebs();
});

async function pagesOf(of: TestNode): Promise<PageCapture[]> {
  const { items } = (await (await of.fetch(`/archive/pages?source=${source}`)).json()) as PageList;
  return Promise.all(
    items.map(async ({ id }) => (await (await of.fetch(`/archive/pages/${id}`)).json()) as PageCapture),
  );
}

async function textAt(of: TestNode, path: string): Promise<string> {
  const response = await of.fetch(path);
  expect(response.status).toBe(200);
  return response.text();
}

const headOf = async (of: TestNode) =>
  JSON.parse(await textAt(of, '/api/ledger?limit=1')) as { head: unknown };
const sha256Of = (text: string) => createHash('sha256').update(text).digest('hex');
const newest = () => pages[0] as PageCapture;

test('the parts of a page are objects with their requests, and no checks of the source', async () => {
  expect(pages).toHaveLength(2);
  const { id, text, picture, document } = newest();
  expect(await textAt(node.node, `/archive/${text}`)).toBe('Prices\nBread costs 2.40\n');
  const { items } = JSON.parse(await textAt(node.node, `/api/retrievals?part_of=${id}`)) as ProvenRetrievals;
  expect(items.map(({ retrieval }) => [retrieval.url, retrieval.observer, retrieval.sha256])).toEqual([
    [new URL('/price', url).href, 'self', sha256Of('Bread costs 2.40')],
    [url, 'browser', text],
    [url, 'browser', document],
    [url, 'browser', picture],
  ]);
  const body = { sha256: sha256Of(BODY), bytes: BODY.length };
  expect(items[0]?.retrieval.request).toMatchObject({ method: 'POST', body });
  expect(await textAt(node.node, `/archive/${body.sha256}`)).toBe(BODY);
  const metadata = JSON.parse(await textAt(node.node, `/archive/${picture}/metadata`)) as ObjectMetadata;
  expect(metadata.retrievals[0]).toMatchObject({
    url,
    observer: 'browser',
    content_type: 'image/png',
    part_of: id,
  });
  // Only the two checks are listed, for the owner and for peers.
  const listed = JSON.parse(await textAt(node.node, '/api/retrievals')) as ProvenRetrievals;
  expect(listed.items.map(({ retrieval }) => retrieval.url)).toEqual([url, url]);
  expect(await node.retrievals(source)).toHaveLength(2);
  expect((await node.source(source)).recent_checks).toEqual([null, null]);
  expect(await textAt(node.node, `/timemap/link/${url}`)).not.toContain('urn:');
});

describe('a dump', () => {
  test('restores page captures with the same ledger', async () => {
    const file = join(own, 'dump.jsonl');
    await writeFile(file, await textAt(node.node, '/api/dump.jsonl'));
    expect(await runHere(['verify', file], undefined, { rendererFolder })).toMatchObject({
      code: 0,
      stderr: '',
    });
    const dataFolder = join(own, 'restored');
    expect(await runHere(['import', file, '--data', dataFolder])).toMatchObject({ code: 0, stderr: '' });
    const before = (await headOf(node.node)).head;
    const restored = await openTestNode({ dataFolder });
    expect((await headOf(restored)).head).toEqual(before);
    expect(await pagesOf(restored)).toEqual(pages);
    await expectVerified(restored);
    const again = parseLines(await textAt(restored, '/api/dump.jsonl'));
    const kinds = (lines: readonly { kind?: unknown }[]) =>
      lines.filter(({ kind }) => kind === 'page_capture' || kind === 'retrieval');
    expect(kinds(again)).toEqual(kinds(parseLines(await readFile(file, 'utf8'))));
  });

  test('is refused if a page capture was changed or taken out', async () => {
    const lines = parseLines(await textAt(node.node, '/api/dump.jsonl'));
    const dump = { folder: own };
    const retold = altered(lines, 'page_capture', 0, inRecord('title', 'Another'));
    expect((await refusal(dump, withTrailer(retold))).sentence).toContain('it was altered');
    const without = lines.filter(({ kind }) => kind !== 'page_capture');
    expect((await refusal(dump, withTrailer(without))).sentence).toContain('its page capture');
    const moved = altered(lines, 'retrieval', 2, member('part_of', undefined));
    expect((await refusal(dump, withTrailer(moved))).sentence).toContain('was altered');
  });
});

test('a page capture that was changed in the database is found', async () => {
  const dataFolder = join(own, 'tampered');
  const file = join(own, 'tampered.jsonl');
  await writeFile(file, await textAt(node.node, '/api/dump.jsonl'));
  expect(await runHere(['import', file, '--data', dataFolder])).toMatchObject({ code: 0 });
  expect(await problems(dataFolder)).toEqual([]);
  const change = (column: string, to: string) =>
    alter(
      dataFolder,
      `DROP TRIGGER IF EXISTS page_captures_refuses_update;
       UPDATE page_captures SET ${column} = replace(${column}, ${to}) WHERE id = '${newest().id}'`,
    );
  const wrong = [expect.objectContaining({ problem: 'wrong_digest', subject: newest().id })];
  change('requests', '\'"POST"\', \'"GOST"\'');
  expect(await problems(dataFolder)).toEqual(wrong);
  change('requests', '\'"GOST"\', \'"POST"\'');
  change('record', '\'"Shop"\', \'"Shoq"\'');
  expect(await problems(dataFolder)).toEqual(wrong);
});

test('a copy holds the parts, shows the picture, and restores the archive', async () => {
  const place = join(own, 'copy');
  const added = await node.node.sendJson('POST', '/manage/copies', {
    target: pathToFileURL(place).href,
    pages: true,
  });
  expect(added.status, await added.clone().text()).toBe(201);
  const { id } = (await added.json()) as Copy;
  const synced = await node.node.fetchAsOwner(`/manage/copies/${id}/sync?wait=true`, { method: 'POST' });
  expect(synced.status, await synced.clone().text()).toBe(200);
  expect(await readdir(join(place, 'archive'))).toEqual(
    expect.arrayContaining([newest().picture, newest().text, sha256Of(BODY), sha256Of('Bread costs 2.40')]),
  );
  expect(await runHere(['verify', pathToFileURL(place).href])).toMatchObject({ code: 0, stderr: '' });
  const [event] = await node.events('observer=browser');
  const eventPage = await readFile(join(place, 'events', `${event?.id}.html`), 'utf8');
  expect(eventPage).toContain(`src="../archive/${newest().picture}"`);
  expect(eventPage).toContain(newest().browser.version);
  const sourcePage = await readFile(join(place, 'sources', `${source}.html`), 'utf8');
  for (const { document } of pages) expect(sourcePage).toContain(document);
  const dataFolder = join(own, 'fromCopy');
  expect(await runHere(['restore', place, '--data', dataFolder])).toMatchObject({ code: 0 });
  const restored = await openTestNode({ dataFolder });
  expect(await pagesOf(restored)).toEqual(pages);
  expect(await textAt(restored, `/archive/${newest().text}`)).toContain('2.40');
  await expectVerified(restored);
});

test('a mirror has the page captures of the peer with their parts, once, and they can be drawn again', async () => {
  const here = await openTestNode();
  const peer = await addPeer(here, node.node.url);
  const result = await mirror(here, peer, { sources: true });
  // One version of the object, and two of the text.
  expect(result).toMatchObject({ events: 3, refused: [] });
  const mirrored = await pagesOf(here);
  expect(mirrored).toEqual(
    pages.map((page) => ({
      ...page,
      observer: peer.name,
      retrieval: expect.any(Number),
      ledger_entry: expect.any(Number),
    })),
  );
  const { items } = JSON.parse(await textAt(here, '/api/events')) as { items: Event[] };
  const ofPages = items.filter(({ page }) => page !== null);
  expect(
    ofPages.map(({ event_type, observer, sha256, page }) => [event_type, observer, sha256, page]),
  ).toEqual(
    pages.map(({ id, text }, index) => [
      index === 0 ? 'changed' : 'first_seen',
      `${peer.name} (browser)`,
      text,
      id,
    ]),
  );
  for (const sha256 of [newest().picture, sha256Of(BODY)])
    expect((await here.fetch(`/archive/${sha256}`)).status).toBe(200);
  await expectVerified(here);
  expect(await mirror(here, peer, { sources: true })).toMatchObject({ events: 0, objects: 0, refused: [] });
  const drawn = await here.fetchAsOwner(`/archive/pages/${newest().id}/draw`, { method: 'POST' });
  expect(drawn.status, await drawn.clone().text()).toBe(200);
  expect((await drawn.json()) as ArchivedDraw).toMatchObject({ same_text: true, same_picture: true });
});

test('a WARC file has the parts as responses, with the body that was sent, and what the page showed as resources', async () => {
  const warc = await textAt(node.node, `/api/warc?source=${source}`);
  const { text, document, picture } = newest();
  const resources = [
    ['text', text],
    ['document', document],
    ['view', picture],
  ] as const;
  for (const [name, sha256] of resources) {
    const record = warc
      .split('WARC/1.1\r\n')
      .find((each) => each.includes(`WARC-Payload-Digest: sha256:${sha256}`));
    expect(record).toContain(`WARC-Target-URI: urn:${name}:${url}\r\n`);
    expect(record).toMatch(/^WARC-Type: (resource|revisit)\r\n/);
  }
  expect(warc).toContain(`POST /price HTTP/1.1`);
  expect(warc).toContain(`\r\n\r\n${BODY}\r\n\r\n`);
  expect(warc).toContain(`page-capture: ${newest().id}`);
  const all = await textAt(node.node, '/api/warc');
  expect(all.match(/WARC-Target-URI: urn:view:/g)).toHaveLength(
    warc.match(/WARC-Target-URI: urn:view:/g)?.length ?? 0,
  );
});

describe('the evidence file of a page', () => {
  let evidence: Evidence;
  let html: string;
  beforeAll(async () => {
    const [event] = await node.events('observer=browser');
    html = await textAt(node.node, `/api/events/${event?.id}/evidence`);
    evidence = JSON.parse(/id="evidence">([^<]*)</.exec(html)?.[1] ?? '') as Evidence;
  });
  const failures = (changed: Evidence) =>
    checkEvidence(changed, nodeCrypto).filter(({ state }) => state === 'fails');

  test('has both texts, the picture and the page capture, and holds', async () => {
    expect(evidence.format).toBe('strongroom-evidence@2');
    expectNoForgeryIntact(evidence);
    expect(evidence.files.map(({ name, sha256 }) => [name, sha256])).toEqual([
      ['after', newest().text],
      ['before', pages[1]?.text],
      ['picture', newest().picture],
    ]);
    expect(JSON.parse(evidence.page?.record ?? '')).toMatchObject({ id: newest().id });
    expect(failures(evidence)).toEqual([]);
    const file = join(own, 'page.evidence.html');
    await writeFile(file, html);
    expect(await runHere(['verify', file], undefined, { rendererFolder })).toMatchObject({ code: 0 });
  });

  test('fails if the picture, the page capture or its entry was changed or taken out', () => {
    const page = evidence.page as NonNullable<Evidence['page']>;
    const { page: _page, ...withoutPage } = evidence;
    const changes: Evidence[] = [
      withoutPage,
      { ...evidence, files: evidence.files.filter(({ name }) => name !== 'picture') },
      { ...evidence, page: { ...page, record: page.record.replace('"Shop"', '"Shoq"') } },
      { ...evidence, page: { ...page, entry: { ...page.entry, at: '2020-01-01T00:00:00.000Z' } } },
    ];
    for (const changed of changes) expect(failures(changed).length).toBeGreaterThan(1);
  });
});

test('a source says what is kept of it, and a record without these settings stays as it was', async () => {
  const records = async () =>
    parseLines(await textAt(node.node, '/api/dump.jsonl')).flatMap(({ kind, record }) =>
      kind === 'source_revision' ? [record as Record<string, unknown>] : [],
    );
  const change = (fields: object) => node.node.sendJson('PATCH', `/manage/sources/${source}`, fields);
  expect((await change({ picture_events: 0.25 })).status).toBe(200);
  expect((await records()).at(-1)).toMatchObject({ capture: 'page', picture_events: 0.25 });
  expect(await node.source(source)).toMatchObject({
    capture: 'page',
    picture_events: 0.25,
    last_page: newest().id,
    page_error: null,
  });
  expect((await change({ capture: 'object', picture_events: null })).status).toBe(200);
  expect(Object.keys((await records()).at(-1) ?? {})).not.toContain('capture');
  await expectVerified(node.node);
});

test('the evidence of a change comes without a picture that was given up, and with the difference of the texts', async () => {
  const [event] = await node.events('observer=browser');
  await release(node.node, newest().picture);
  const html = await textAt(node.node, `/api/events/${event?.id}/evidence`);
  const { files, diff } = JSON.parse(/id="evidence">([^<]*)</.exec(html)?.[1] ?? '') as Evidence;
  expect(files.map(({ name, content }) => [name, content !== null])).toEqual([
    ['after', true],
    ['before', true],
    ['picture', false],
  ]);
  expect(diff).not.toBeNull();
});
