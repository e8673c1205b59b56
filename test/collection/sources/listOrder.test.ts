import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Source, WatchedSource } from '../../../shared/collection/source.ts';
import { closeScriptedWebs, page, ScriptedWeb } from '../../support/network/scriptedWeb.ts';
import { closeTestNodes } from '../../support/node.ts';
import { type CollectingNode, openCollectingNode } from '../support.ts';

let node: CollectingNode;
let web: ScriptedWeb;

beforeEach(async () => {
  web = await ScriptedWeb.open();
  node = await openCollectingNode();
});
afterEach(async () => {
  await closeTestNodes();
  await closeScriptedWebs();
});

async function ledgerTypes(): Promise<string[]> {
  const { items } = await node.read<{ items: { type: string }[] }>('/api/ledger');
  return items.map(({ type }) => type);
}

/** Adds a source by a list without a name. */
async function listed(url: string): Promise<string> {
  const headers = { 'Content-Type': 'text/plain' };
  const answer = await node.node.fetchAsOwner('/manage/sources/import', {
    method: 'POST',
    headers,
    body: url,
  });
  const { items } = (await answer.json()) as { items: { source: string }[] };
  return items[0]?.source ?? '';
}

describe('the name of a source that a list added without one', () => {
  test('is the title of the page when it is first seen, and the ledger records it', async () => {
    web.script('/', page('<title>River &amp; levels</title>'));
    const id = await listed(web.url('/'));
    await node.check();
    expect((await node.source(id)).name).toBe('River & levels');
    expect(await ledgerTypes()).toEqual(
      expect.arrayContaining(['source.added', 'event.recorded', 'source.changed']),
    );
    expect(await node.read('/api/ledger/verify')).toMatchObject({ ok: true });
    const found = await node.read<{ total: number }>('/manage/sources?q=levels');
    expect(found.total).toBe(1);
  });

  test('is filled once: a later title, and a name that was removed, stay as they are', async () => {
    web.script(
      '/',
      page('<title>First</title>'),
      page('<title>Second</title>'),
      page('<title>Third</title>'),
    );
    const id = await listed(web.url('/'));
    await node.check();
    await node.check();
    expect((await node.source(id)).name).toBe('First');
    await node.node.sendJson('PATCH', `/manage/sources/${id}`, { name: '' });
    await node.check();
    expect((await node.source(id)).name).toBe('');
  });

  test('never replaces a name, is not given to a source added by itself, and is not taken from an error page or from bytes without a title', async () => {
    web.script('/named', page('<title>Title</title>'));
    web.script('/error', page('<html><title>404 Not Found</title>Nothing here</html>'));
    web.script('/plain', page('no title'));
    web.script('/added', page('<title>Added by itself</title>'));
    const named = await node.watch(web.url('/named'), { name: 'Mine' });
    const added = await node.watch(web.url('/added'));
    const others = [await listed(web.url('/error')), await listed(web.url('/plain')), added.id];
    await node.check();
    expect((await node.source(named.id)).name).toBe('Mine');
    for (const id of others) expect((await node.source(id)).name).toBe('');
  });

  test('has at most 200 characters and no control characters', async () => {
    web.script('/', page(`<meta charset="utf-8"><title>\u0007${'😀'.repeat(250)}</title>`));
    const id = await listed(web.url('/'));
    await node.check();
    expect((await node.source(id)).name).toMatch(/^(?:😀){1,200}$/u);
  });
});

describe('the order of a list of sources', () => {
  async function names(sort: string, path = '/manage/sources'): Promise<string[]> {
    const { items } = await node.read<{ items: (Source | WatchedSource)[] }>(`${path}?sort=${sort}`);
    return items.map(({ name }) => name);
  }

  test('is by any column in both directions, with missing values last', async () => {
    web.script('/a', page('a'));
    web.script('/b', page('broken', { status: 500 }));
    web.script('/c', page('c'));
    await node.watch(web.url('/a'), { name: 'alpha', agency: 'Zoo' });
    await node.watch(web.url('/b'), { name: 'Beta' });
    const gamma = await node.watch(web.url('/c'), { name: 'gamma', agency: 'bureau' });
    await node.check();
    expect(await names('name')).toEqual(['alpha', 'Beta', 'gamma']);
    expect(await names('-name')).toEqual(['gamma', 'Beta', 'alpha']);
    expect(await names('agency')).toEqual(['gamma', 'alpha', 'Beta']);
    expect(await names('-agency')).toEqual(['alpha', 'gamma', 'Beta']);
    expect(await names('state')).toEqual(['Beta', 'gamma', 'alpha']);
    expect(await names('-added')).toEqual(['gamma', 'Beta', 'alpha']);
    expect((await names('changed')).at(-1)).toBe('Beta');
    expect((await names('-changed')).at(-1)).toBe('Beta');
    await node.node.sendJson('PATCH', `/manage/sources/${gamma.id}`, { paused: true });
    expect((await names('next')).at(-1)).toBe('gamma');
    expect(await names('state', '/api/sources')).toEqual(['Beta', 'gamma', 'alpha']);
    expect((await names('checked')).length).toBe(3);
  });

  test('an unknown order is 400 invalid_parameter', async () => {
    const response = await node.node.fetchAsOwner('/manage/sources?sort=colour');
    expect([response.status, await response.json()]).toMatchObject([400, { code: 'invalid_parameter' }]);
  });
});
