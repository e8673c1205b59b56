import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { FoundText } from '../../../../shared/collection/derived.ts';
import { uploadNewPack } from '../../../support/archive/packs.ts';
import { uploadManifest } from '../../../support/archive/sets.ts';
import { eventually } from '../../../support/eventually.ts';
import { closeScriptedWebs, page, ScriptedWeb } from '../../../support/network/scriptedWeb.ts';
import { closeTestNodes, DERIVING } from '../../../support/node.ts';
import { NOON, response } from '../../../support/warcFiles.ts';
import { imported } from '../../captures/support.ts';
import { CollectingNode, openCollectingNode } from '../../support.ts';
import { sha256 } from '../support.ts';

let web: ScriptedWeb;
let node: CollectingNode;

beforeEach(async () => {
  web = await ScriptedWeb.open();
  node = await openCollectingNode({}, DERIVING);
});
afterEach(async () => {
  await closeTestNodes();
  await closeScriptedWebs();
});

interface SearchPage {
  items: FoundText[];
  total: number;
  limit: number;
  offset: number;
  next: string | null;
}

function search(q: string, rest = ''): Promise<SearchPage> {
  return node.read<SearchPage>(`/api/search?q=${encodeURIComponent(q)}${rest}`);
}

/** Texts are extracted in the background, after the check. */
function untilFound(q: string, total: number): Promise<SearchPage> {
  return eventually(async () => {
    const found = await search(q);
    expect(found.total).toBe(total);
    return found;
  });
}

describe('searching the texts of versions and packs', () => {
  test('finds a text by its words, with its source, its version and the positions of the matches', async () => {
    const body = '<title>Tides</title><p>The sea level of Zürich rose, they said. <script>hidden</script>';
    web.script('/sea', page(body));
    const { id, url } = await node.watch(web.url('/sea'), { name: 'Sea', agency: 'NOAA', tags: ['a'] });
    await node.check();
    const [event] = await node.events();
    const { items, ...list } = await untilFound('ZURICH lev', 1);
    expect(list).toEqual({ total: 1, limit: 100, offset: 0, next: null });
    const snippet = 'The sea level of Zürich rose, they said.';
    expect(items).toEqual([
      {
        source: { id, url, name: 'Sea', agency: 'NOAA', tags: ['a'] },
        pack: null,
        sha256: sha256(body),
        observed_at: event?.observed_at,
        observer: 'self',
        original_observed_at: null,
        is_current: true,
        other_versions: 0,
        title: 'Tides',
        snippet: {
          text: snippet,
          marks: ['level', 'Zürich'].map((word) => ({
            start: snippet.indexOf(word),
            end: snippet.indexOf(word) + word.length,
          })),
        },
        derived: expect.objectContaining({ tool: 'strongroom-html-text' }),
      },
    ]);
    expect((await search('tides')).total).toBe(1);
    expect((await search('"level of zurich"')).total).toBe(1);
    for (const q of ['"of level"', 'hidden', 'level nowhere', 'evel'])
      expect((await search(q)).total, q).toBe(0);
  });

  test('a word of one letter is found as a whole word only, a Chinese character as a prefix', async () => {
    web.script('/tides', page('<p>Tide b of 海面上昇'));
    await node.watch(web.url('/tides'));
    await node.check();
    const { items } = await untilFound('B tid', 1);
    expect(items[0]?.snippet.marks).toEqual([
      { start: 0, end: 4 },
      { start: 5, end: 6 },
    ]);
    for (const [q, total] of [
      ['t', 0],
      ['o', 0],
      ['of', 1],
      ['海', 1],
    ] as const)
      expect((await search(q)).total, q).toBe(total);
  });

  test('finds every version, says which it is, and groups the versions of one source', async () => {
    web.script(
      '/page',
      page('<p>common and first'),
      page('<p>common and second'),
      page('GIF89a', { headers: { 'Content-Type': 'image/gif' } }),
    );
    const { id } = await node.watch(web.url('/page'));
    await node.check();
    await node.check();
    await untilFound('first', 1);
    const [first] = (await search('first')).items;
    const [newest] = (await untilFound('second', 1)).items;
    expect([first?.is_current, newest?.is_current]).toEqual([false, true]);
    expect((await search('common')).items).toMatchObject([
      { sha256: sha256('<p>common and second'), is_current: true, other_versions: 1 },
    ]);
    const each = await search('common', `&source=${id}`);
    expect(each.items.map(({ sha256: digest, is_current }) => [digest, is_current])).toEqual([
      [sha256('<p>common and second'), true],
      [sha256('<p>common and first'), false],
    ]);
    await node.check();
    await eventually(async () => expect((await search('second')).items[0]?.is_current).toBe(false));
  });

  test('finds captures that were imported, with their observer and both times', async () => {
    await imported(node, response('the zebra crossing', { uri: 'http://example.com/', date: NOON }));
    const { items } = await untilFound('zebra', 1);
    expect(items).toMatchObject([
      { is_current: true, observer: 'Archive', original_observed_at: '2020-01-01T12:00:00.000Z' },
    ]);
  });

  test('finds the files of packs by pack and path, once for each digest', async () => {
    const files = {
      'notes/a.md': '# Quokka\n\nSeen twice.',
      'data.csv': 'animal,count\nquokka,2\n',
      'p.png': 'quokka',
    };
    const pack = await uploadNewPack(node.node, {}, files);
    const { items } = await untilFound('quokka', 2);
    const places = items.map((item) => [item.pack?.id, item.pack?.path ?? '', item.source] as const);
    expect(places.toSorted(([, left], [, right]) => left.localeCompare(right))).toEqual([
      [pack.id, 'data.csv', null],
      [pack.id, 'notes/a.md', null],
    ]);
    expect(items[0]?.pack?.title).toBe(pack.title);
    expect((await search('quokka', '&in=sources')).total).toBe(0);
    expect((await search('quokka', '&in=packs')).total).toBe(2);
    const again = await uploadNewPack(node.node, { title: 'The same files' }, files);
    expect((await search('quokka', '&in=packs')).items[0]?.pack).toMatchObject({ id: again.id, others: 1 });
  });

  test('finds files that only parts of sets have if they are asked for', async () => {
    const bytes = Buffer.from('A wallaby was seen.');
    const part = await uploadNewPack(node.node, {}, { 'seen.txt': bytes });
    await untilFound('wallaby', 1);
    const file = { path: 'seen.txt', bytes: bytes.length, sha256: sha256(bytes) };
    const files = [{ ...file, parts: [{ pack: part.id, ...file }] }];
    const set = await uploadManifest(node.node, { format: 'strongroom-set@1', files });
    expect(set.status).toBe(201);
    expect((await search('wallaby')).items).toEqual([]);
    expect((await search('wallaby', '&parts=true')).items).toMatchObject([
      { pack: { id: part.id, path: 'seen.txt' } },
    ]);
  });

  test('does not find a source that is no longer watched, until it is watched again', async () => {
    web.script('/page', page('<p>a rare wombat'));
    const { id, url } = await node.watch(web.url('/page'));
    await node.check();
    await untilFound('wombat', 1);
    await node.node.sendJson('DELETE', `/manage/sources/${id}`, undefined);
    expect((await search('wombat')).total).toBe(0);
    await node.watch(url);
    expect((await search('wombat')).total).toBe(1);
  });

  test('returns pages, newest source first, and accepts any text as a query', async () => {
    for (const name of ['one', 'two', 'three']) {
      web.script(`/${name}`, page(`<p>common and ${name}`));
      await node.watch(web.url(`/${name}`), { name });
    }
    await node.check();
    await untilFound('common', 3);
    const first = await search('common', '&limit=2');
    expect(first.items.map(({ source }) => source?.name)).toEqual(['three', 'two']);
    const next = await node.read<SearchPage>(first.next ?? '');
    expect([next.items.map(({ source }) => source?.name), next.next]).toEqual([['one'], null]);
    expect((await search('')).total).toBe(3);
    for (const q of ['"', 'AND', '*', 'a NEAR(b', '{x', "'", '\u0000', '\ud800']) {
      expect((await node.node.fetch(`/api/search?q=${encodeURIComponent(q.toWellFormed())}`)).status, q).toBe(
        200,
      );
    }
    for (const [query, code] of [
      ['limit=0', 'invalid_limit'],
      ['offset=x', 'invalid_offset'],
      ['rank=1', 'unknown_parameter'],
    ]) {
      const answer = await node.node.fetch(`/api/search?${query}`);
      expect([answer.status, ((await answer.json()) as { code: string }).code]).toEqual([400, code]);
    }
  });
});
