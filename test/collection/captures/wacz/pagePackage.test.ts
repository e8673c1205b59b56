import { afterEach, expect, test } from 'vitest';
import { CDXIndexer } from 'warcio';
import type { PageCapture, PageList } from '../../../../shared/collection/page.ts';
import { page as answer, closeScriptedWebs, ScriptedWeb } from '../../../support/network/scriptedWeb.ts';
import { closeTestNodes } from '../../../support/node.ts';
import { openCollectingNode } from '../../support.ts';
import { imported } from '../support.ts';
import { recordsOf } from '../warcExport/warcSupport.ts';
import { exportedPackage, unzipped, validated } from './support.ts';

afterEach(async () => {
  await closeTestNodes();
  await closeScriptedWebs();
});

const SHOP = `<!doctype html><title>Shop</title><h1>Prices</h1><p id="price"></p><script>
  fetch('/prices?of=all', {
    method: 'POST', body: '{"all":true,"of":"bread & milk"}', headers: { 'content-type': 'application/json' },
  }).then((response) => response.text()).then((text) => { document.getElementById('price').textContent = text; });
</script>`;

test('a package of a page has its picture, its text, what it asked for by POST, and its proof', async () => {
  const web = await ScriptedWeb.open();
  web.script('/', answer(SHOP, { headers: { 'content-type': 'text/html; charset=utf-8' } }));
  web.script('/prices?of=all', answer('Bread costs 2.10', { headers: { 'content-type': 'text/plain' } }));
  const node = await openCollectingNode();
  const url = web.url('/');
  const { id: source } = await node.watch(url, { capture: 'page' });
  await node.check();
  const { items } = await node.read<PageList>(`/archive/pages?source=${source}`);
  const page = await node.read<PageCapture>(`/archive/pages/${items[0]?.id}`);

  const bytes = await exportedPackage(node.node, `source=${source}`);
  const found = await validated(bytes);
  expect(found.pages).toEqual([
    {
      id: page.id,
      url,
      ts: page.started_at,
      title: 'Shop',
      text: 'Prices\nBread costs 2.10\n',
    },
  ]);
  const drawn = found.entries.filter(({ type }) => type === 'resource');
  expect(drawn.map(({ url: of, mime, digest }) => [of, mime, digest])).toEqual([
    [`urn:document:${url}`, 'text/html', `sha256:${page.document}`],
    [`urn:text:${url}`, 'text/plain', `sha256:${page.text}`],
    [`urn:view:${url}`, 'image/png', `sha256:${page.picture}`],
  ]);
  const posted = found.entries.find(({ method }) => method === 'POST');
  expect(posted).toMatchObject({
    url: web.url('/prices?of=all'),
    status: 200,
    requestBody: 'all=true&of=bread+%26+milk',
  });
  expect(posted?.key).toMatch(/\)\/prices\?__wb_method=post&all=true&of=all&of=bread\+%26\+milk$/);

  const files = await unzipped(bytes);
  const warc = files['archive/data.warc.gz'] ?? Buffer.alloc(0);
  const request = (await recordsOf(warc)).find(({ head }) => head.startsWith('POST '));
  expect(request?.payload.toString()).toBe('{"all":true,"of":"bread & milk"}');
  const peer: Record<string, unknown>[] = [];
  const file = { filename: 'data.warc.gz', reader: [new Uint8Array(warc)] as never };
  for await (const line of new CDXIndexer({ format: 'json' }).iterIndex([file])) peer.push(line);
  const facts = ({ urlkey, key, url: of, method, requestBody, offset, length }: Record<string, unknown>) =>
    [urlkey ?? key, of, method, requestBody, offset, length].join(' ');
  expect(found.entries.map((each) => facts({ ...each })).toSorted()).toEqual(peer.map(facts).toSorted());

  const lines = String(files['strongroom/records.jsonl']).trim().split('\n');
  expect(lines.map((line) => JSON.parse(line) as object)).toContainEqual({ page });
  expect(String(files[`strongroom/${page.ledger_entry}.tlog-proof`])).toContain(
    `index ${page.ledger_entry - 1}\n`,
  );

  const other = await openCollectingNode();
  expect(await imported(other, bytes, { type: 'application/wacz' })).toMatchObject({
    captures: 1,
    pages: 1,
    refused: expect.arrayContaining([
      { reason: 'not_get', count: 1 },
      { reason: 'not_http', count: 3 },
    ]),
  });
});
