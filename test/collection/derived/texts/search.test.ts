import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { FoundText } from '../../../../shared/collection/derived.ts';
import { closeTestNodes } from '../../../support/node.ts';
import { closeScriptedWebs, page, ScriptedWeb } from '../../../support/scriptedWeb.ts';
import { type CollectingNode, openCollectingNode } from '../../support.ts';
import { sha256 } from '../support.ts';

let web: ScriptedWeb;
let node: CollectingNode;

beforeEach(async () => {
  web = await ScriptedWeb.open();
  node = await openCollectingNode();
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
  return vi.waitFor(
    async () => {
      const found = await search(q);
      expect(found.total).toBe(total);
      return found;
    },
    { timeout: 15_000, interval: 50 },
  );
}

describe('searching the texts of the current versions', () => {
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
        sha256: sha256(body),
        observed_at: event?.observed_at,
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

  test('finds the new version instead of the old one, which stays readable', async () => {
    web.script(
      '/page',
      page('<p>first words'),
      page('<p>second words'),
      page('GIF89a', { headers: { 'Content-Type': 'image/gif' } }),
    );
    await node.watch(web.url('/page'));
    await node.check();
    await untilFound('first', 1);
    await node.check();
    await untilFound('second', 1);
    expect((await search('first')).total).toBe(0);
    expect((await node.node.fetch(`/archive/${sha256('<p>first words')}/text`)).status).toBe(200);
    await node.check();
    await untilFound('second', 0);
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
    expect(first.items.map(({ source }) => source.name)).toEqual(['three', 'two']);
    const next = await node.read<SearchPage>(first.next ?? '');
    expect([next.items.map(({ source }) => source.name), next.next]).toEqual([['one'], null]);
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
