import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { load } from 'cheerio';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { blobPath } from '../../../server/store/files.ts';
import type { Copy } from '../../../shared/node/copy.ts';
import { type CollectingNode, openCollectingNode } from '../../collection/support.ts';
import { closeScriptedWebs, page, ScriptedWeb } from '../../support/network/scriptedWeb.ts';
import { closeTestNodes, temporaryFolder } from '../../support/node.ts';
import { runHere } from '../../support/runHere.ts';
import { readPages } from './readPages.ts';

const HOSTILE = `<script>alert(1)</script><img src=x onerror="alert(2)">`;
const as = (type: string) => ({ headers: { 'Content-Type': type } });

let place: string;
let node: CollectingNode;
let web: ScriptedWeb;
beforeEach(async () => {
  place = join(await temporaryFolder(), 'copy');
  node = await openCollectingNode();
  web = await ScriptedWeb.open();
});
afterEach(async () => {
  await closeTestNodes();
  await closeScriptedWebs();
});

async function watchTwice(type: string, before: string, after: string): Promise<void> {
  web.script('/a', page(before, as(type)), page(after, as(type)));
  await node.watch(web.url('/a'));
  await node.check();
  await node.check();
}

async function syncedCopy(): Promise<Copy> {
  const target = pathToFileURL(place).href;
  const copy = (await (
    await node.node.sendJson('POST', '/manage/copies', { target, pages: true })
  ).json()) as Copy;
  await done(copy, 'sync');
  return copy;
}

async function done({ id }: Copy, what: 'sync' | 'check'): Promise<unknown> {
  const answer = await node.node.fetchAsOwner(`/manage/copies/${id}/${what}?wait=true`, { method: 'POST' });
  expect(answer.status, await answer.clone().text()).toBe(200);
  return answer.json();
}

/** The section about the changes, on the page of the newest event. */
async function changes() {
  const [event] = await node.events();
  const text = await readFile(join(place, `events/${event?.id}.html`), 'utf8');
  const $ = load(text);
  const list = (of: string) =>
    $(`.changes ${of}`)
      .toArray()
      .map((each) => $(each).text());
  return { $, bytes: text.length, text: $('.changes').text(), added: list('ins'), removed: list('del') };
}

test('the page of a change shows the words that differ, as text', async () => {
  await watchTwice('text/plain', 'Wages rose by 3 per cent.\n', `Wages rose by 4 ${HOSTILE} per cent.\n`);
  const copy = await syncedCopy();
  const { $, added, removed, text } = await changes();
  expect(removed.join('')).toContain('3');
  expect(added.join('')).toContain(HOSTILE);
  expect(text).toContain('Line 1');
  expect($('.changes script, .changes img')).toHaveLength(0);
  const before = await readPages(place);
  expect(before.get(`events/${(await node.events())[1]?.id}.html`)).not.toContain('class="changes"');
  // The same pages are made again: a check finds nothing to mend, and neither does the command.
  expect(await done(copy, 'check')).toMatchObject({ ok: true, damaged: 0, missing: 0 });
  await node.node.close();
  const whole = join(await temporaryFolder(), 'whole');
  const made = await runHere(['copy', whole, '--pages', '--data', node.node.dataFolder]);
  expect(made).toMatchObject({ code: 0, stderr: '' });
  expect(await readPages(whole)).toEqual(before);
});

test('values of JSON, and rows of a table', async () => {
  await watchTwice('application/json', '{"a": 1, "b": [1]}', `{"a": 2, "b": [1], "<c>": "${'x'.repeat(9)}"}`);
  web.script(
    '/t',
    page('id,n\n1,one\n2,two\n', as('text/csv')),
    page('id,n\n1,one\n2,<b>\n', as('text/csv')),
  );
  await syncedCopy();
  expect(await changes()).toMatchObject({ removed: ['1'], added: ['2', '"xxxxxxxxx"'] });
  expect((await changes()).text).toContain('/<c>');
  const source = await node.watch(web.url('/t'));
  await node.check([source.id]);
  await node.check([source.id]);
  const { items } = await node.read<{ items: Copy[] }>('/manage/copies');
  await done(items[0] as Copy, 'sync');
  const { $, added, removed, text } = await changes();
  expect({ removed, added }).toEqual({ removed: ['two'], added: ['<b>'] });
  expect($('.changes tbody tr')).toHaveLength(1);
  expect(text).toContain('Rows are matched by the column “id”.');
});

test('a long list of differences is cut, with a sentence that says so', async () => {
  const lines = (word: string) =>
    Array.from({ length: 8_000 }, (_, index) => (index % 4 === 0 ? `${word} ${index}` : 'same')).join('\n');
  await watchTwice('text/plain', lines('old'), lines('new'));
  await syncedCopy();
  const { text, bytes } = await changes();
  expect(text).toContain('The list of differences is cut here.');
  expect(bytes).toBeLessThan(100_000);
});

test('versions of which one is damaged are not compared, and the page says so', async () => {
  await watchTwice('text/plain', 'one', 'two');
  const [event] = await node.events();
  await writeFile(blobPath(node.node.dataFolder, event?.sha256 ?? ''), 'tw0');
  await syncedCopy();
  const { text, added } = await changes();
  expect(text).toContain('could not be compared');
  expect(added).toEqual([]);
});
