import { createHash } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { buildChooserScript, CHOOSER_SCRIPT } from '../../../renderer/inlineScripts.ts';
import type { Watch, WatchChoices } from '../../../shared/collection/noise.ts';
import { closeScriptedWebs, page, ScriptedWeb } from '../../support/network/scriptedWeb.ts';
import { closeTestNodes, DERIVING, temporaryFolder } from '../../support/node.ts';
import { type CollectingNode, openCollectingNode } from '../support.ts';

let node: CollectingNode;
let web: ScriptedWeb;
let script = '';

beforeAll(async () => {
  const rendererFolder = await temporaryFolder();
  script = await buildChooserScript();
  await mkdir(join(rendererFolder, 'chooser'));
  await writeFile(join(rendererFolder, CHOOSER_SCRIPT), script);
  node = await openCollectingNode({}, { ...DERIVING, rendererFolder });
  web = await ScriptedWeb.open();
});

afterAll(async () => {
  await closeTestNodes();
  await closeScriptedWebs();
});

const PAGE = `<!doctype html><html data-a='<meta charset="utf-8"><script>'><title>Fees</title><body onload="run()">
  <script>run()</script><h2>Fees</h2><form><p>The fee is <b>4</b>.</form><p class="a">One<p class="a">Two
  <table><caption>Prices</caption><tr><th>Item<th>Price<tr><td>Tea<td>5</table>`;

async function watched(path: string, body: string, type = 'text/html') {
  web.script(path, page(body, { headers: { 'Content-Type': type } }));
  const source = await node.watch(web.url(path));
  await node.check([source.id]);
  return node.source(source.id);
}

async function choices(id: string, candidates: Watch[], text: string): Promise<WatchChoices['choices']> {
  const body = { candidates, text };
  const answer = await node.node.sendJson('POST', `/manage/sources/${id}/watch/choices`, body);
  expect(answer.status, await answer.clone().text()).toBe(200);
  return ((await answer.json()) as WatchChoices).choices;
}

test('of the names of an element those that work are returned, and one selector of several', async () => {
  const { id } = await watched('/page', PAGE);
  const column = { table: 'Prices', columns: ['Price'] };
  const candidates: Watch[] = [
    column,
    { table: 9 },
    { css: '#gone' },
    { css: 'p[' },
    { css: 'p.a' },
    { css: 'b' },
    { css: 'form > p > b' },
    { json_path: '$.a' },
    { heading: 'Fees' },
  ];
  const found = await choices(id, candidates, '4');
  expect(found).toMatchObject([
    { watch: column, parts: 2, text: 'Price 5', same: false },
    { watch: { css: 'b' }, parts: 1, text: '4', same: true },
    { watch: { heading: 'Fees' }, text: expect.stringMatching(/^Fees The fee is 4\. One Two Prices Item/) },
  ]);
  // None has the text of the element: then the first single part is offered, and it is said.
  const other = await choices(id, [{ css: 'p.a' }, { css: 'b' }], 'else');
  expect(other).toMatchObject([{ watch: { css: 'b' }, same: false }]);
  const json = await watched('/json', '{"a":1}', 'application/json');
  expect(await choices(json.id, [{ css: 'p' }], '')).toEqual([]);
});

test('the page in which a part is chosen has the script of the node alone, and its policy allows no other', async () => {
  const { last_sha256 } = await watched('/hostile', PAGE);
  const path = `/manage/objects/${last_sha256}/choose`;
  const answer = await node.node.fetchAsOwner(path);
  const html = await answer.text();
  const hash = createHash('sha256').update(script).digest('base64');
  const policy = answer.headers.get('Content-Security-Policy');
  expect(policy).toContain(`default-src 'none'`);
  expect(policy).toContain(`; script-src 'sha256-${hash}'; sandbox allow-scripts`);
  expect(policy).not.toMatch(/allow-(same-origin|top|popups|forms)|unsafe-eval/);
  expect(html.split(/<script/)).toHaveLength(2);
  expect(html).toContain(`<head><meta charset="utf-8"><script>${script}</script>`);
  expect(html).not.toMatch(/onload|run\(\)/);
  expect(script).not.toMatch(/<\/script|<!--/);
  expect((await node.node.fetch(path)).status).not.toBe(200);
  const plain = await node.node.fetch(`/archive/${last_sha256}/page`);
  expect(await plain.text()).not.toContain('<script');
});
