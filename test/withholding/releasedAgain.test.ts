import { afterEach, expect, test } from 'vitest';
import type { PageList } from '../../shared/collection/page.ts';
import type { WatchedSource } from '../../shared/collection/source.ts';
import { sendFile } from '../collection/handedIn/support.ts';
import { openCollectingNode } from '../collection/support.ts';
import { release, withhold } from '../copies/withheldCopies.ts';
import { Dice } from '../simulate/dice.ts';
import { newMarker } from '../simulate/markers.ts';
import { sha256Of } from '../support/archive/packs.ts';
import { closeScriptedWebs, page, ScriptedWeb } from '../support/network/scriptedWeb.ts';
import { closeTestNodes, DERIVING } from '../support/node.ts';
import { savedPage } from '../support/savedPages.ts';
import { HANDED_IN_FROM, SHOWN } from './handIns.ts';
import { HTML, seen, titled } from './quotes.ts';

/* Bytes that were given up come again, within others. */

afterEach(async () => {
  await closeTestNodes();
  await closeScriptedWebs();
});

const dice = new Dice(4_711);

test.each(['document', 'part'])(
  'a file is refused if it has bytes that were given up, as its %s',
  async (kind) => {
    const { node } = await openCollectingNode({}, DERIVING);
    const marker = newMarker(dice);
    const given = kind === 'document' ? titled('Page', marker) : `<svg>${marker}</svg>`;
    const saved = (boundary: string) =>
      savedPage(
        HANDED_IN_FROM,
        [
          {
            type: 'text/html',
            location: HANDED_IN_FROM,
            content: kind === 'document' ? given : titled(boundary),
          },
          {
            type: 'image/svg+xml',
            location: 'http://elsewhere.example/x.svg',
            content: kind === 'document' ? '<svg/>' : given,
          },
        ],
        boundary,
      );
    expect((await sendFile(node, saved('--one'), 'multipart/related', SHOWN)).status).toBe(201);
    await withhold(node, { sha256: sha256Of(given) });
    await release(node, sha256Of(given));
    const again = await sendFile(node, saved('--two'), 'multipart/related', SHOWN);
    expect([again.status, await again.json()]).toEqual([410, expect.objectContaining({ code: 'released' })]);
    expect(await seen(node, marker)).toEqual([]);
    // Nothing of it is kept, and the node goes on.
    expect((await node.fetch(`/archive/${sha256Of(saved('--two'))}`)).status).toBe(404);
    expect(await (await node.fetch('/api/ledger/verify')).json()).toMatchObject({ ok: true });
  },
);

test('of a page that shows bytes that were given up nothing is kept, until it no longer shows them', async () => {
  const [web, node] = [await ScriptedWeb.open(), await openCollectingNode({}, DERIVING)];
  const marker = newMarker(dice);
  web.script('/data.txt', page(marker));
  const { id: data } = await node.watch(web.url('/data.txt'));
  await node.check([data]);
  await release(node.node, sha256Of(marker));
  const shows = `<script>fetch('/data.txt').then((a) => a.text()).then((t) => document.body.append(t))</script>`;
  web.script('/page', page(titled('Drawn', shows), HTML));
  const { id } = await node.watch(web.url('/page'), { capture: 'page' });
  await node.check([id]);
  const state = async () => (await node.read<WatchedSource>(`/api/sources/${id}`)).page_error;
  const pages = async () => (await node.read<PageList>(`/archive/pages?source=${id}`)).items.length;
  expect([await state(), await pages(), await seen(node.node, marker)]).toEqual(['page_released', 0, []]);
  web.script('/page', page(titled('Drawn', 'Other words.'), HTML));
  await node.check([id]);
  expect([await state(), await pages()]).toEqual([null, 1]);
});
