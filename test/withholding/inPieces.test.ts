import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import type { PageList } from '../../shared/collection/page.ts';
import { type CollectingNode, openCollectingNode } from '../collection/support.ts';
import { release, show, withhold } from '../copies/withheldCopies.ts';
import { Dice } from '../simulate/dice.ts';
import { newMarker } from '../simulate/markers.ts';
import { sha256Of } from '../support/archive/packs.ts';
import { closeScriptedWebs, page, ScriptedWeb, type Step } from '../support/network/scriptedWeb.ts';
import { closeTestNodes, openTestNode, temporaryFolder } from '../support/node.ts';
import { runHere } from '../support/runHere.ts';
import { HTML, titled } from './quotes.ts';

/* A page may load a long file in pieces, by range requests. They have other digests than the file, and the same words. */

afterEach(async () => {
  await closeTestNodes();
  await closeScriptedWebs();
});

const dice = new Dice(2_060);
const START = 100;

/** Sends a file, or the rest of it that is asked for. */
const inPieces =
  (data: string): Step =>
  (socket, request) => {
    // The node asks for the whole file, and the browser for a piece of it.
    if (request.headers.range === undefined) return page(data)(socket, request);
    const headers = { 'Content-Range': `bytes ${START}-${data.length - 1}/${data.length}` };
    return page(data.slice(START), { status: 206, headers })(socket, request);
  };

/** A node that watches a file, and a page that loads the end of it and shows it, also in its title. */
async function watching() {
  const web = await ScriptedWeb.open();
  const node = await openCollectingNode();
  const marker = newMarker(dice);
  const data = `${'x'.repeat(START)} ${marker}`;
  web.script('/data', inPieces(data));
  const load = `fetch('/data', { headers: { Range: 'bytes=${START}-' } })`;
  const script = `${load}.then((a) => a.text()).then((t) => document.body.append((document.title = t)))`;
  web.script('/page', page(titled('Page', `<script>${script}</script>`), HTML));
  const file = await node.watch(web.url('/data'), { name: 'Data' });
  const drawn = await node.watch(web.url('/page'), { capture: 'page', name: 'Page' });
  return { web, node, marker, data, sha256: sha256Of(data), file, drawn };
}

/** The page captures, newest first: the title, and what a visitor gets for the text, the document, the picture and the piece. */
async function captures(
  { node }: Pick<CollectingNode, 'node'>,
  piece: string,
): Promise<[string, number[]][]> {
  const { items } = (await (await node.fetch('/archive/pages')).json()) as PageList;
  const status = async (sha256: string) => (await node.fetch(`/archive/${sha256}`)).status;
  return Promise.all(
    items.map(async ({ title, text, document, picture }) => [
      title,
      await Promise.all([text, document, picture, piece].map(status)),
    ]),
  );
}
const HIDDEN = [451, 451, 451, 451];
const OPEN = [200, 200, 200, 200];

test('a page that loaded a piece of a file is withheld with it, whichever came first', async () => {
  const { node, marker, data, sha256, file, drawn } = await watching();
  const piece = sha256Of(data.slice(START));
  await node.check([file.id]);
  await node.check([drawn.id]);
  await withhold(node.node, { sha256 });
  const title = expect.stringContaining(marker) as string;
  expect(await captures(node, piece)).toEqual([[title, HIDDEN]]);
  await node.check([drawn.id]);
  // The first title was recorded while it was shown.
  expect(await captures(node, piece)).toEqual([
    ['', HIDDEN],
    [title, HIDDEN],
  ]);
  const dump = join(await temporaryFolder(), 'dump.jsonl');
  await writeFile(dump, await (await node.node.fetch('/api/dump.jsonl')).text());
  await show(node.node, { sha256 });
  expect((await captures(node, piece)).map(([, statuses]) => statuses)).toEqual([OPEN, OPEN]);
  const restored = join(await temporaryFolder(), 'data');
  expect(await runHere(['import', dump, '--data', restored])).toMatchObject({ code: 0 });
  const again = await openTestNode({ dataFolder: restored });
  expect((await captures({ node: again }, piece)).map(([, statuses]) => statuses)).toEqual([HIDDEN, HIDDEN]);
});

test('a page that loaded a piece of another version of a withheld file is shown', async () => {
  const { web, node, marker, data, sha256, file, drawn } = await watching();
  await node.check([file.id]);
  await withhold(node.node, { sha256 });
  const later = `${data} and more`;
  web.script('/data', inPieces(later));
  await node.check([drawn.id]);
  expect(await captures(node, sha256Of(later.slice(START)))).toEqual([
    [expect.stringContaining(marker), OPEN],
  ]);
});

test('of a page that loads a piece of a file that was given up nothing is kept', async () => {
  const { node, data, sha256, file, drawn } = await watching();
  await node.check([file.id]);
  await release(node.node, sha256);
  await node.check([drawn.id]);
  expect(await node.read(`/api/sources/${drawn.id}`)).toMatchObject({ page_error: 'page_released' });
  expect(await captures(node, '')).toEqual([]);
  expect((await node.node.fetch(`/archive/${sha256Of(data.slice(START))}`)).status).toBe(404);
});
