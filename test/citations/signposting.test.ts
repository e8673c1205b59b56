import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import LinkHeader from 'http-link-header';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { linksetText } from '../../server/http/delivery/itemPages.ts';
import type { Study } from '../../shared/archive/study.ts';
import { filesOf, problemOf, sha256Of, uploadNewPack } from '../support/archive/packs.ts';
import { closeTestNodes, openTestNode, type TestNode, temporaryFolder } from '../support/node.ts';

interface Target {
  href: string;
  type?: string;
}
type Context = { anchor: string } & Record<string, Target[]>;

let node: TestNode;
beforeEach(async () => {
  const rendererFolder = join(await temporaryFolder(), 'renderer');
  await mkdir(rendererFolder);
  await writeFile(join(rendererFolder, 'index.html'), '<!doctype html><title>Strongroom</title>');
  node = await openTestNode({ rendererFolder });
});
afterEach(closeTestNodes);

async function linksOf(path: string): Promise<LinkHeader> {
  const response = await node.fetch(path);
  expect(response.status).toBe(200);
  return LinkHeader.parse(response.headers.get('Link') ?? '');
}

const targets = (links: LinkHeader, rel: string) => links.rel(rel).map(({ uri }) => uri);

async function linksetOf(id: string): Promise<Context[]> {
  const response = await node.fetch(`/api/items/${id}/linkset`);
  expect(response.headers.get('Content-Type')).toBe('application/linkset+json');
  return ((await response.json()) as { linkset: Context[] }).linkset;
}

const AUTHORS = [{ name: 'Ada Lovelace', orcid: '0000-0002-1825-0097' }, { name: 'Nobody in particular' }];

describe('Signposting of a pack', () => {
  test('the page and the record lead to descriptions, files, licence and authors', async () => {
    const files = { 'levels.csv': 'day,level\n2026-01-01,4\n', 'notes.txt': 'calm' };
    const pack = await uploadNewPack(node, { authors: AUTHORS }, files);
    for (const path of [`/packs/${pack.id}`, `/api/packs/${pack.id}`]) {
      const links = await linksOf(path);
      expect(targets(links, 'cite-as')).toEqual([`${node.url}/packs/${pack.id}`]);
      expect(targets(links, 'author')).toEqual(['https://orcid.org/0000-0002-1825-0097']);
      expect(targets(links, 'license')).toEqual([
        'https://creativecommons.org/publicdomain/zero/1.0/legalcode',
      ]);
      expect(targets(links, 'type')).toContain('https://schema.org/Dataset');
      expect(targets(links, 'item')).toEqual(
        pack.files.map(({ sha256 }) => `${node.url}/api/blobs/${sha256}`),
      );
      expect(links.rel('describedby')).toHaveLength(8);
      expect(links.rel('linkset').map(({ type }) => type)).toEqual([
        'application/linkset+json',
        'application/linkset',
      ]);
    }
  });

  test('every link to this node answers with the type that it names', async () => {
    const record = { files: filesOf({ 'a.csv': 'a,b\n1,2\n' }, 'text/csv; header="present"') };
    const pack = await uploadNewPack(node, record, { 'a.csv': 'a,b\n1,2\n' });
    const links = await linksOf(`/packs/${pack.id}`);
    for (const { uri, rel, type } of links.refs) {
      if (!uri.startsWith(node.url) || type === undefined || rel === 'item') continue;
      const response = await node.fetch(uri.slice(node.url.length));
      expect(response.status, uri).toBe(200);
      expect(response.headers.get('Content-Type')?.split(';', 1)[0], uri).toBe(type);
    }
    expect(links.rel('item').map(({ type }) => type)).toEqual(['text/csv']);
  });

  test('many files are in the linkset only, and the header stays short', async () => {
    const names = Array.from({ length: 40 }, (_, index) => `file-${index}.txt`);
    const files = Object.fromEntries(names.map((name) => [name, name]));
    const pack = await uploadNewPack(node, {}, files);
    const response = await node.fetch(`/packs/${pack.id}`);
    const header = response.headers.get('Link') ?? '';
    expect(header.length).toBeLessThan(3_000);
    expect(LinkHeader.parse(header).rel('item')).toEqual([]);
    const [page, ...others] = await linksetOf(pack.id);
    expect(page?.item).toHaveLength(40);
    const blob = `${node.url}/api/blobs/${sha256Of('file-7.txt')}`;
    expect(others.find(({ anchor }) => anchor === blob)?.collection).toEqual([
      { href: `${node.url}/packs/${pack.id}`, type: 'text/html' },
    ]);
  });

  test('the linkset says in both formats what the header says', async () => {
    const pack = await uploadNewPack(node, { authors: AUTHORS }, { 'a.txt': 'a' });
    const header = await linksOf(`/packs/${pack.id}`);
    const [page] = await linksetOf(pack.id);
    const { anchor, ...byRel } = page as Context;
    expect(anchor).toBe(`${node.url}/packs/${pack.id}`);
    const fromJson = Object.entries(byRel).flatMap(([rel, all]) => all.map(({ href }) => `${rel} ${href}`));
    expect(fromJson.sort()).toEqual(header.refs.map(({ rel, uri }) => `${rel} ${uri}`).sort());
    const response = await node.fetch(`/api/items/${pack.id}/linkset`, {
      headers: { Accept: 'application/linkset' },
    });
    expect(response.headers.get('Content-Type')).toBe('application/linkset');
    const text = LinkHeader.parse((await response.text()).trim().replaceAll('\n', ' '));
    const ofPage = text.refs.filter((ref) => ref.anchor === anchor);
    expect(ofPage.map(({ rel, uri }) => `${rel} ${uri}`).sort()).toEqual(fromJson);
  });

  test('a blob links to its packs unless there are many', async () => {
    const files = { 'a.txt': 'shared by all' };
    const path = `/api/blobs/${sha256Of('shared by all')}`;
    const packs: string[] = [];
    for (let count = 1; count <= 6; count += 1) {
      packs.push((await uploadNewPack(node, { title: `Number ${count}` }, files)).id);
      const links = LinkHeader.parse((await node.fetch(path)).headers.get('Link') ?? '');
      expect(targets(links, 'collection')).toEqual(count > 5 ? [] : packs.map((id) => `/packs/${id}`));
    }
  });
});

test('a study leads to its descriptions, and its linkset to its packs and their authors', async () => {
  const created = await node.sendJson('POST', '/api/studies', { title: 'Tides' });
  const study = (await created.json()) as Study;
  const pack = await uploadNewPack(node, { study: study.id, authors: AUTHORS });
  for (const path of [`/studies/${study.id}`, `/api/studies/${study.id}`]) {
    const links = await linksOf(path);
    expect(targets(links, 'cite-as')).toEqual([`${node.url}/studies/${study.id}`]);
    expect(targets(links, 'type')).toContain('https://schema.org/Collection');
  }
  const [page] = await linksetOf(study.id);
  expect(page).toMatchObject({
    item: [{ href: `${node.url}/packs/${pack.id}` }],
    author: [{ href: 'https://orcid.org/0000-0002-1825-0097' }],
  });
});

test.each(['https://e.org/a>; rel="x", <b', 'https://e.org/a"b c', 'https://e.org/\\\n<>'])(
  'the linkset as text holds one link, whatever its address: %j',
  (href) => {
    const links = [{ rel: 'item', href, type: 'text/x"; rel="cite-as' }];
    const { refs } = LinkHeader.parse(linksetText([{ anchor: href, links }]).trim());
    expect(refs).toHaveLength(1);
    expect(refs[0]).toMatchObject({ rel: 'item', type: 'text/x"; rel="cite-as' });
    expect(decodeURIComponent(refs[0]?.uri ?? '')).toBe(href);
    expect(decodeURIComponent(String(refs[0]?.anchor))).toBe(href);
  },
);

test('what an uploader calls a part of a pack is no link of the node', async () => {
  const identifier = 'https://e.org/>; rel="cite-as", <https://evil.example/';
  const pack = await uploadNewPack(node, { related: [{ relation: 'HasPart', identifier }] });
  expect(JSON.stringify(await linksetOf(pack.id))).not.toContain('e.org');
  expect((await node.fetch(`/packs/${pack.id}`)).headers.get('Link')).not.toContain('evil');
});

test('a linkset of nothing, and in an unknown format, is refused', async () => {
  const pack = await uploadNewPack(node);
  expect(await problemOf(node.fetch('/api/items/pk_0/linkset'))).toMatchObject({ code: 'not_found' });
  const path = `/api/items/${pack.id}/linkset`;
  expect(await problemOf(node.fetch(`${path}?format=rdf`))).toMatchObject({ code: 'invalid_format' });
  const unknown = node.fetch(path, { headers: { Accept: 'text/turtle' } });
  expect(await problemOf(unknown)).toMatchObject({ code: 'not_acceptable' });
});
