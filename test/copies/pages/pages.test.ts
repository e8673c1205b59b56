import { existsSync } from 'node:fs';
import { readdir, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { load } from 'cheerio';
import { XMLParser } from 'fast-xml-parser';
import { parse as parseHtml } from 'parse5';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { CopyCheck } from '../../../shared/node/copy.ts';
import { imported } from '../../collection/captures/support.ts';
import type { CollectingNode } from '../../collection/support.ts';
import { filledArchive } from '../../dump/filledArchive.ts';
import { sampleRecord, sha256Of, uploadNewPack } from '../../support/archive/packs.ts';
import { partsByHand, publishedSet, uploadManifest } from '../../support/archive/sets.ts';
import { closeScriptedWebs } from '../../support/network/scriptedWeb.ts';
import { closeTestNodes, openTestNode, temporaryFolder } from '../../support/node.ts';
import { response } from '../../support/warcFiles.ts';
import { addCopy, sync } from '../withheldCopies.ts';
import { readPages } from './readPages.ts';

let place: string;
beforeEach(async () => {
  place = join(await temporaryFolder(), 'copy');
});
afterEach(async () => {
  await closeTestNodes();
  await closeScriptedWebs();
});

/** Text that would run or break a page if it were not escaped. */
const HOSTILE = `</script><script>alert(1)</script><img src=x onerror="alert(2)">&"' ]]>`;

/** An archive with every kind of record, and text that wants to be code. */
async function hostileArchive(): Promise<CollectingNode> {
  const node = await filledArchive(join(await temporaryFolder(), 'data'));
  const record = sampleRecord({
    title: HOSTILE,
    summary: HOSTILE,
    authors: [{ name: HOSTILE }],
    keywords: [HOSTILE],
    results: { [HOSTILE]: HOSTILE },
    method: { text: HOSTILE, complete: true },
    related: [{ relation: 'References', identifier: '10.1234/x"><script>alert(3)</script>' }],
  });
  const { id } = await uploadNewPack(node.node, record, { 'folder/page.html': '<script>alert(4)</script>' });
  const comment = { author: HOSTILE, body: HOSTILE };
  expect((await node.node.sendJson('POST', `/api/items/${id}/comments`, comment)).status).toBe(201);
  const uri = 'http://captured.example/?a=%22%3E%3Cscript%3E';
  await imported(node, response('<script>alert(5)</script>', { uri }));
  return node;
}

describe('the pages of a copy', () => {
  test('link only to what the copy holds, and no text in them can run', async () => {
    const { node } = await hostileArchive();
    const sent = await sync(node, await addCopy(node, place));
    const pages = await readPages(place);
    expect(sent.pages).toBe(pages.size);
    for (const [path, text] of pages) {
      if (!path.endsWith('.html')) continue;
      const errors: string[] = [];
      parseHtml(text, { onParseError: ({ code }) => errors.push(code) });
      expect(errors, path).toEqual([]);
      const $ = load(text);
      const policy = $('meta[http-equiv="Content-Security-Policy"]').attr('content');
      expect(policy, path).toContain("default-src 'none'");
      const mayRun = path === 'search.html' || path === 'verify.html';
      if (!mayRun) expect(policy, path).not.toContain('script-src');
      const scripts = $('script:not([type="application/ld+json"])').toArray();
      expect(scripts.every(({ attribs }) => mayRun && /^assets\/[\w.]+$/.test(attribs.src ?? ''))).toBe(true);
      expect($('[onerror], [onclick], [style], iframe, object, img').length, path).toBe(0);
      expect($('html').attr('lang')).toBe('en');
      expect($('h1')).toHaveLength(1);
      for (const block of $('script[type="application/ld+json"]').toArray())
        expect(JSON.parse($(block).text()), path).toMatchObject({ '@context': 'https://schema.org' });
      for (const link of $('[href], [src], form[action]').toArray()) {
        const target = link.attribs.href ?? link.attribs.src ?? link.attribs.action ?? '';
        if (/^https?:/.test(target)) continue;
        const file = join(dirname(join(place, path)), target.replace(/[?#].*/, ''));
        expect(target === '#content' || existsSync(file), `${path}: ${target}`).toBe(true);
        if (/(^|\/)archive\//.test(target)) expect(link.attribs.download, path).toBeTruthy();
      }
    }
  });

  test('show the files of a set, with a link to each piece of one that was cut', async () => {
    const node = await openTestNode({ packBytes: 10_000 });
    const { manifest, files } = await publishedSet(node);
    const copy = await addCopy(node, place);
    await sync(node, copy);
    const path = `packs/${manifest.id}.html`;
    const rows = async () => {
      const $ = load((await readPages(place)).get(path) ?? '');
      return $('[aria-label="Files of the set"] tbody tr')
        .toArray()
        .map((row) => $(row));
    };
    const [, , small, large] = await rows();
    expect(small?.find('a').attr('href')).toBe(`../archive/${sha256Of(files['b.csv'] ?? '')}`);
    expect(large?.find('a')).toHaveLength(3);
    for (const link of large?.find('a').toArray() ?? [])
      expect(existsSync(join(dirname(join(place, path)), link.attribs.href ?? ''))).toBe(true);
    await node.sendJson('POST', '/manage/withheld', {
      sha256: sha256Of(files['b.csv'] ?? ''),
      reason: 'copyright',
    });
    await sync(node, copy);
    const [, , hidden] = await rows();
    expect([hidden?.find('a').length, hidden?.text()]).toEqual([
      0,
      expect.stringContaining('Withheld since'),
    ]);
  });

  test('do not list packs that became parts of a set after they were', async () => {
    const node = await openTestNode();
    const created = await node.sendJson('POST', '/api/studies', { title: 'Drift' });
    const { id: study } = (await created.json()) as { id: string };
    await uploadNewPack(node, { title: 'First', study }, { a: 'a' });
    const { manifest } = await partsByHand(node, { study });
    await uploadNewPack(node, { title: 'Last', study }, { b: 'b' });
    const copy = await addCopy(node, place);
    await sync(node, copy);
    await uploadManifest(node, manifest);
    await sync(node, copy);
    const pages = await readPages(place);
    const packsIn = (path: string) => load(pages.get(path) ?? '')('main a[href*="packs/"]').length;
    expect(packsIn(`studies/${study}.html`)).toBe(2);
    const anew = join(await temporaryFolder(), 'copy');
    await sync(node, await addCopy(node, anew));
    expect(pages).toEqual(await readPages(anew));
  });

  test('one for each pack, study, source, event and month, and all of them in the sitemap; they show a removed source’s history, and no value of a secret header', async () => {
    const node = await filledArchive(join(await temporaryFolder(), 'data'));
    await sync(node.node, await addCopy(node.node, place, { public_url: 'https://copy.example/a' }));
    const pages = await readPages(place);
    const events = await node.events();
    const items = async (kind: string) =>
      (await node.read<{ items: { id: string }[] }>(`/api/${kind}?limit=500`)).items.map(({ id }) => id);
    const expected = [
      ...(await items('packs')).map((id) => `packs/${id}.html`),
      ...(await items('studies')).map((id) => `studies/${id}.html`),
      ...(await items('sources')).map((id) => `sources/${id}.html`),
      ...events.map(({ id }) => `events/${id}.html`),
      ...new Set(events.map(({ observed_at }) => `timeline/${observed_at.slice(0, 7)}.html`)),
    ];
    expect([...pages.keys()]).toEqual(expect.arrayContaining(expected));
    const located = [...pages]
      .filter(([path]) => path.startsWith('sitemap'))
      .flatMap(([, text]) => [...text.matchAll(/<loc>([^<]+)<\/loc>/g)].map(([, url]) => url));
    expect(located).toEqual(expect.arrayContaining(expected.map((path) => `https://copy.example/a/${path}`)));
    for (const path of expected)
      expect(load(pages.get(path) ?? '')('link[rel=canonical]').attr('href')).toBe(
        `https://copy.example/a/${path}`,
      );
    const { feed } = new XMLParser({ ignoreAttributes: false }).parse(pages.get('events.atom') ?? '') as {
      feed: { entry: { id: string }[] };
    };
    expect(feed.entry.map(({ id }) => id)).toEqual(
      events.map(({ id }) => `https://copy.example/a/events/${id}.html`),
    );
    const all = [...pages.values()].join('\n');
    expect(all).toContain('This source is no longer watched.');
    expect(all).not.toContain('hunter2');
  });

  test('are removed when the owner no longer wants them, and come back', async () => {
    const node = await openTestNode();
    await uploadNewPack(node, sampleRecord(), { 'a.txt': 'one' });
    const copy = await addCopy(node, place);
    await sync(node, copy);
    const before = await readPages(place);
    const change = (body: object) => node.sendJson('PATCH', `/manage/copies/${copy.id}`, body);
    expect(await (await change({ pages: false })).json()).toMatchObject({ pages: false });
    expect(await sync(node, copy)).not.toHaveProperty('pages');
    expect((await readPages(place)).size).toBe(0);
    expect(await readdir(join(place, 'state'))).toEqual(['1.jsonl']);
    await change({ pages: true });
    expect(await sync(node, copy)).toMatchObject({ records: 0, pages: before.size });
    expect(await readPages(place)).toEqual(before);
  });

  test('are read back by a check and sent again if they were changed', async () => {
    const node = await openTestNode();
    await uploadNewPack(node, sampleRecord(), { 'a.txt': 'one' });
    const copy = await addCopy(node, place);
    await sync(node, copy);
    const before = await readPages(place);
    await writeFile(join(place, 'index.html'), 'defaced');
    await rm(join(place, 'packs.html'));
    const check = async () => {
      const answer = await node.sendJson('POST', `/manage/copies/${copy.id}/check?wait=true`, {});
      return (await answer.json()) as CopyCheck;
    };
    expect(await check()).toMatchObject({ ok: false, damaged: 1, missing: 1 });
    expect(await check()).toMatchObject({ ok: true });
    expect(await readPages(place)).toEqual(before);
  });
});
