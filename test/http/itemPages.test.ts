import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { load } from 'cheerio';
import jsonld from 'jsonld';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Study } from '../../shared/archive/study.ts';
import { problemOf, sampleRecord, sha256Of, uploadNewPack, uploadPack } from '../support/archive/packs.ts';
import { rawRequest } from '../support/network/rawRequest.ts';
import { closeTestNodes, openTestNode, type TestNode, temporaryFolder } from '../support/node.ts';

/** As in the built interface. */
const DOCUMENT = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="description" content="A Strongroom archive node" />
    <title>Strongroom</title>
    <script type="module" crossorigin src="/assets/index.js"></script>
  </head>
  <body>
    <div id="root"></div>
  </body>
</html>
`;

let node: TestNode;
beforeEach(async () => {
  const rendererFolder = join(await temporaryFolder(), 'renderer');
  await mkdir(rendererFolder);
  await writeFile(join(rendererFolder, 'index.html'), DOCUMENT);
  node = await openTestNode({ rendererFolder });
});
afterEach(closeTestNodes);

async function pageAt(path: string, init?: RequestInit) {
  const response = await node.fetch(path, init);
  const html = await response.text();
  const $ = load(html);
  const meta = (name: string) => $(`meta[name="${name}"], meta[property="${name}"]`).attr('content');
  const blocks = $('script[type="application/ld+json"]').toArray();
  const documents = blocks.map((block) => JSON.parse($(block).text()) as Record<string, unknown>);
  return { response, html, $, meta, jsonLd: documents[0], documents };
}

/** Expands a document as a program does that knows schema.org's context, without the network. */
async function expand(document: object): Promise<Record<string, unknown>> {
  const documentLoader = async (url: string) => {
    expect(url).toBe('https://schema.org');
    const context = { '@vocab': 'http://schema.org/', url: { '@type': '@id' }, license: { '@type': '@id' } };
    return { contextUrl: undefined, documentUrl: url, document: { '@context': context } };
  };
  // In safe mode, what would be lost is an error.
  const options = { documentLoader, safe: true } as jsonld.Options.Expand;
  const [expanded] = await jsonld.expand(document as jsonld.JsonLdDocument, options);
  return expanded as Record<string, unknown>;
}

describe('the head of a page', () => {
  test('describes a pack to search engines, link previews and feed readers', async () => {
    const pack = await uploadNewPack(node, { summary: 'Ten years of tides.' }, { 'a.csv': 'a\n1\n' });
    const { $, meta, jsonLd } = await pageAt(`/packs/${pack.id}`);
    const url = `${node.url}/packs/${pack.id}`;
    expect($('title').text()).toMatch(/^Sea level at Cuxhaven · .+ · Strongroom$/);
    expect($('title')).toHaveLength(1);
    expect($('meta[name="description"]')).toHaveLength(1);
    expect(meta('description')).toBe('Ten years of tides.');
    expect([meta('og:title'), meta('og:url'), meta('og:description')]).toEqual([
      'Sea level at Cuxhaven',
      url,
      'Ten years of tides.',
    ]);
    expect($('link[rel="canonical"]').attr('href')).toBe(url);
    const feed = $('link[rel="alternate"][type="application/atom+xml"]').attr('href') ?? '';
    expect((await node.fetch(feed)).headers.get('Content-Type')).toContain('application/atom+xml');
    expect($('script[type="module"]').attr('src')).toBe('/assets/index.js');
    expect(jsonLd).toMatchObject({
      '@type': 'Dataset',
      '@id': url,
      name: 'Sea level at Cuxhaven',
      identifier: `urn:sha256:${pack.digest}`,
      distribution: [{ contentUrl: `${node.url}/api/blobs/${sha256Of('a\n1\n')}` }],
    });
  });

  test('holds JSON-LD of which a processor loses nothing', async () => {
    const created = await node.sendJson('POST', '/api/studies', { title: 'Tides' });
    const study = (await created.json()) as Study;
    const pack = await uploadNewPack(node, { study: study.id, keywords: ['sea'] }, { 'a.txt': 'a' });
    const dataset = await expand((await pageAt(`/packs/${pack.id}`)).jsonLd ?? {});
    expect(dataset).toMatchObject({
      '@id': `${node.url}/packs/${pack.id}`,
      '@type': ['http://schema.org/Dataset'],
      'http://schema.org/keywords': [{ '@value': 'sea' }],
      'http://schema.org/isPartOf': [{ '@id': `${node.url}/studies/${study.id}` }],
    });
    const collection = await expand((await pageAt(`/studies/${study.id}`)).jsonLd ?? {});
    expect(collection).toMatchObject({
      '@type': ['http://schema.org/Collection'],
      'http://schema.org/hasPart': [{ '@id': `${node.url}/packs/${pack.id}` }],
    });
  });

  test.each([
    ['a script', '</script><script>alert(1)</script>'],
    ['a comment', '<!-- <script> --!>'],
    ['quotes', `" onload="alert(1)' & $& $' $\``],
    ['line separators', 'a\u2028b\u2029c'],
    ['text from right to left', '\u202Eعلم البحار\u202C <b>'],
    ['the end of the title', '</title></head><body>'],
  ])('is not left by %s in a title', async (_name, title) => {
    const pack = await uploadNewPack(node, { title, summary: title, authors: [{ name: title }] });
    const { $, html, jsonLd, meta, documents } = await pageAt(`/packs/${pack.id}`);
    const shown = title.replace(/[\u2028\u2029]/g, ' ');
    expect(documents).toHaveLength(1);
    expect($('script')).toHaveLength(2);
    expect(jsonLd).toMatchObject({ name: shown, creator: [{ name: shown }] });
    expect(meta('og:title')).toBe(shown);
    expect($('title').text()).toContain(shown);
    expect($('[onload]')).toHaveLength(0);
    expect($('body').children()).toHaveLength(1);
    expect(html.match(/<\/head>/g)).toHaveLength(1);
  });

  test('never has half of a character: such a title is refused', async () => {
    const record = JSON.stringify(sampleRecord()).replace('Sea level', '\\ud800 level');
    expect(await problemOf(uploadPack(node, record))).toMatchObject({ code: 'not_canonical' });
  });

  test('lists at most 100 files, whatever the pack holds', async () => {
    const names = Array.from({ length: 120 }, (_, index) => `file-${index}.txt`);
    const pack = await uploadNewPack(node, {}, Object.fromEntries(names.map((name) => [name, name])));
    expect((await pageAt(`/packs/${pack.id}`)).jsonLd?.distribution).toHaveLength(100);
  });

  test('names related works by their URIs', async () => {
    const related = [
      { relation: 'IsPartOf' as const, identifier: '10.5281/zenodo.12345' },
      { relation: 'HasPart' as const, identifier: `sha256:${sha256Of('x')}` },
      { relation: 'HasPart' as const, identifier: 'https://example.org/a b' },
    ];
    const pack = await uploadNewPack(node, { related });
    expect((await pageAt(`/packs/${pack.id}`)).jsonLd).toMatchObject({
      isPartOf: [{ '@id': 'https://doi.org/10.5281/zenodo.12345' }],
      hasPart: [{ '@id': `urn:sha256:${sha256Of('x')}` }, { '@id': 'https://example.org/a%20b' }],
    });
  });

  test('of a study is made of its first 100 packs; its citation is made of all', async () => {
    const created = await node.sendJson('POST', '/api/studies', { title: 'Tides' });
    const { id } = (await created.json()) as Study;
    for (let index = 0; index < 101; index += 1) {
      const authors = [{ name: `Author ${index}` }];
      const record = sampleRecord({ title: `Pack ${index}`, study: id, authors });
      expect((await node.sendJson('POST', '/api/packs', record)).status).toBe(201);
    }
    const { jsonLd } = await pageAt(`/studies/${id}`);
    expect(jsonLd?.hasPart).toHaveLength(100);
    expect(jsonLd?.creator).toHaveLength(100);
    const cited = await node.fetch(`/api/items/${id}/cite?format=csl-json`);
    expect(await cited.text()).toContain('100');
  });

  test('is confirmed with the tag of the copy that a client has', async () => {
    const pack = await uploadNewPack(node, { summary: 'x'.repeat(2_000) });
    const path = `${node.url}/packs/${pack.id}`;
    const zipped = await rawRequest(path, { headers: { 'Accept-Encoding': 'gzip' } });
    const plain = await rawRequest(path, {});
    expect(zipped.headers.etag).toBe(`W/${String(plain.headers.etag)}`);
    for (const { headers } of [zipped, plain]) {
      const again = await rawRequest(path, {
        headers: { 'Accept-Encoding': 'gzip', 'If-None-Match': String(headers.etag) },
      });
      expect(again.status).toBe(304);
      expect(again.headers.etag).toBe(headers.etag);
      expect(again.headers.vary).toMatch(/Accept-Encoding/i);
    }
  });

  test('of a source has its own feed', async () => {
    const added = await node.sendJson('POST', '/manage/sources', { url: 'http://127.0.0.1:9/a.txt' });
    const { id } = (await added.json()) as { id: string };
    const { $, jsonLd } = await pageAt(`/sources/${id}`);
    expect($('link[type="application/atom+xml"]').attr('href')).toBe(`/api/events.atom?source=${id}`);
    expect(jsonLd).toBeUndefined();
  });

  test('uses the public address for requests that come by it', async () => {
    const origin = 'https://archive.example';
    await node.sendJson('PATCH', '/manage/settings', { public_url: origin });
    const pack = await uploadNewPack(node);
    const proxied = { 'X-Forwarded-For': '203.0.113.7', Authorization: `Bearer ${node.token}` };
    const { $, response } = await pageAt(`/packs/${pack.id}`, { headers: proxied });
    expect($('link[rel="canonical"]').attr('href')).toBe(`${origin}/packs/${pack.id}`);
    expect(response.headers.get('Link')).toContain(`<${origin}/packs/${pack.id}>; rel="cite-as"`);
  });
});

describe('a page without data of the archive', () => {
  test('is what other sites open while the node is not shared, also where there is nothing', async () => {
    const pack = await uploadNewPack(node);
    const headers = { 'Sec-Fetch-Site': 'cross-site', 'Sec-Fetch-Mode': 'navigate' };
    for (const path of [`/packs/${pack.id}`, '/packs/pk_0']) {
      const { status, headers: sent, body } = await rawRequest(node.url + path, { headers });
      expect([status, sent.link, body], path).toEqual([200, undefined, DOCUMENT]);
    }
    await node.sendJson('PUT', '/manage/sharing', { mode: 'read', require_invitation: false });
    const shared = await rawRequest(`${node.url}/packs/${pack.id}`, { headers });
    expect(shared.body).toContain('application/ld+json');
    expect((await rawRequest(`${node.url}/packs/pk_0`, { headers })).status).toBe(404);
  });

  test('is what a client with a wrong token gets; strangers get none while the node is not shared', async () => {
    const pack = await uploadNewPack(node);
    const wrong = await pageAt(`/packs/${pack.id}`, { headers: { Authorization: 'Bearer wrong' } });
    expect(wrong.html).toBe(DOCUMENT);
    await node.sendJson('PATCH', '/manage/settings', { public_url: 'https://archive.example' });
    const stranger = await node.fetch(`/packs/${pack.id}`, { headers: { 'X-Forwarded-For': '203.0.113.7' } });
    expect(stranger.status).toBe(403);
  });
});
