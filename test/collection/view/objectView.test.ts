import { gzipSync } from 'node:zlib';
import { afterEach, expect, test } from 'vitest';
import { closeScriptedWebs } from '../../support/network/scriptedWeb.ts';
import { closeTestNodes } from '../../support/node.ts';
import { ViewNode } from './support.ts';

afterEach(async () => {
  await closeTestNodes();
  await closeScriptedWebs();
});

test.each([
  ['/a.pdf', '%PDF-1.7', 'application/octet-stream', 'pdf', 'a.pdf'],
  ['/notes.md', '# Notes', 'text/plain', 'markdown', 'notes.md'],
  ['/notes', '# Notes', 'text/markdown', 'markdown', 'notes.md'],
  ['/feed', '<?xml version="1.0"?><rss version="2.0"></rss>', 'text/xml', 'feed', 'feed.xml'],
  ['/data.xml', '<?xml version="1.0"?><rows/>', 'application/xml', 'xml', 'data.xml'],
  ['/drawing.svg', '<svg xmlns="http://www.w3.org/2000/svg"/>', 'image/svg+xml', 'image', 'drawing.svg'],
  ['/rows.php', 'a,b', 'text/csv', 'csv', 'rows.php.csv'],
  ['/v1/prices', '{}', 'application/json', 'json', 'prices.json'],
  ['/archive.zip', 'PK\x03\x04', 'application/zip', 'other', 'archive.zip'],
  ['/stra%C3%9Fe%2F..%2Fx.html', '<p>', 'text/html', 'html', 'x.html'],
])('%s is shown as what it is and gets a name', async (path, body, type, kind, name) => {
  const node = await ViewNode.open();
  const digest = await node.archive(path, body, { 'Content-Type': type });
  expect(await node.view(digest)).toMatchObject({
    kind,
    file_name: name,
    content_type: type,
    content: `/archive/${digest}`,
  });
});

test('a file name comes from Content-Disposition, or from the host and the date', async () => {
  const node = await ViewNode.open();
  const named = await node.archive('/download?id=7', 'a,b', {
    'Content-Type': 'text/csv',
    'Content-Disposition': `attachment; filename="x.csv"; filename*=UTF-8''Preise%20M%C3%A4rz%2F2026.csv`,
  });
  expect((await node.view(named)).file_name).toBe('2026.csv');
  const front = await node.archive('/', '<p>front');
  const { file_name, at } = await node.view(front);
  expect(file_name).toBe(`127.0.0.1 ${at.slice(0, 10)}.html`);
});

test('the content of an encoded object is sent so that a browser decodes it', async () => {
  const node = await ViewNode.open();
  const digest = await node.archive('/notes.md', gzipSync('# Notes'), {
    'Content-Type': 'text/markdown',
    'Content-Encoding': 'gzip',
  });
  const { content, kind, file_name } = await node.view(digest);
  expect([kind, file_name]).toEqual(['markdown', 'notes.md.gz']);
  expect(await (await node.get(content)).text()).toBe('# Notes');
});

test('a file name contains nothing that reorders or hides what follows', async () => {
  const node = await ViewNode.open();
  const type = { 'Content-Type': 'text/plain' };
  const name = `a\u202eb\u061cc\ufeffd\u2028e\u0085f.txt`;
  const digest = await node.archive(`/${encodeURIComponent(name)}`, 'hidden', type);
  expect((await node.view(digest)).file_name).toBe('a_b_c_d_e_f.txt');
});
