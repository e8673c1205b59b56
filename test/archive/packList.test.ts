import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Pack } from '../../shared/archive/pack.ts';
import { problemOf, uploadNewPack } from '../support/archive/packs.ts';
import { closeTestNodes, openTestNode, type TestNode } from '../support/node.ts';

let node: TestNode;
const packs: Record<string, Pack> = {};
let study: string;

beforeAll(async () => {
  node = await openTestNode();
  for (const path of ['ocean', 'ocean/north', 'oceanic']) {
    await node.sendJson('POST', '/api/nodes', { path, title: path });
  }
  ({ id: study } = (await (await node.sendJson('POST', '/api/studies', { title: 'S' })).json()) as {
    id: string;
  });
  packs.tides = await uploadNewPack(node, {
    title: 'tides of Zürich',
    summary: 'The height of water',
    authors: [{ name: 'Ada Lovelace', orcid: '0000-0002-1825-0097' }],
    keywords: ['Sea Level'],
    method: { text: 'Gauges were read hourly', complete: true },
    node: 'ocean/north',
  });
  packs.salt = await uploadNewPack(node, {
    title: 'Salt',
    authors: [{ name: 'Émilie du Châtelet' }, { name: 'Ada Byron' }],
    keywords: ['sea level', 'salinity'],
    outcome: 'negative',
    license: 'CC-BY-4.0',
    node: 'ocean',
    study,
  });
  packs.wind = await uploadNewPack(node, {
    title: 'Árbol',
    outcome: 'null',
    results: { 'wind speed': 3 },
    node: 'oceanic',
    study,
  });
  packs.again = await uploadNewPack(node, {
    title: 'Bora again',
    outcome: 'mixed',
    replicates: { pack: packs.salt.id, verdict: 'reproduced' },
  });
  packs.failed = await uploadNewPack(node, {
    title: 'zephyr failed',
    outcome: 'negative',
    replicates: { pack: packs.salt.id, verdict: 'failed' },
  });
  packs.once = await uploadNewPack(node, {
    title: 'Once more',
    replicates: { pack: packs.tides.id, verdict: 'failed' },
  });
  await node.sendJson('POST', `/api/packs/${packs.wind.id}/flag`, { reason: 'duplicate' });
});
afterAll(closeTestNodes);

async function ask(query: string) {
  const response = await node.fetch(`/api/packs${query}`);
  expect(response.status).toBe(200);
  return (await response.json()) as {
    items: Pack[];
    total: number;
    limit: number;
    offset: number;
    next: string | null;
  };
}

/** Returns the names of the packs that a query lists. */
async function listed(query: string): Promise<string> {
  const { items, total } = await ask(query);
  expect(total).toBe(items.length);
  return items.map(({ id }) => Object.keys(packs).find((name) => packs[name]?.id === id)).join(' ');
}

test('lists packs newest first, each the same as when read by id', async () => {
  expect(await listed('')).toBe('once failed again wind salt tides');
  for (const item of (await ask('')).items) {
    expect(item).toEqual(await (await node.fetch(`/api/packs/${item.id}`)).json());
  }
});

test.each([
  ['?outcome=negative', 'failed salt'],
  ['?license=CC-BY-4.0', 'salt'],
  ['?tag=replicable', 'tides'],
  ['?verdict=failed', 'once failed'],
  ['?study={study}', 'wind salt'],
  ['?node=ocean', 'salt tides'],
  ['?node=ocean/north', 'tides'],
  ['?node=nowhere', ''],
  ['?author=ada lovelace', 'once failed again wind tides'],
  ['?author=emilie', 'salt'],
  ['?author=Ada', 'once failed again wind salt tides'],
  ['?author=0000-0002-1825-0097', 'tides'],
  ['?author=nobody', ''],
  ['?keyword=SEA LEVEL', 'salt tides'],
  ['?keyword=sea', ''],
  ['?flagged=true', 'wind'],
  ['?flagged=false', 'once failed again salt tides'],
  ['?replicates={salt}', 'failed again'],
  ['?replicates=pk_00000000000000000000', ''],
  ['?outcome=negative&verdict=failed', 'failed'],
  ['?outcome=negative&verdict=failed&flagged=true', ''],
  ['?node=ocean&keyword=sea level&author=ada&license=CC0-1.0', 'tides'],
])('the filter %s lists %j', async (query, expected) => {
  const filled = query.replace('{study}', study).replace('{salt}', packs.salt?.id ?? '');
  expect(await listed(encodeURI(filled))).toBe(expected);
});

test.each([
  ['zurich', 'tides'],
  ['TIDES zür', 'tides'],
  ['height water', 'tides'],
  ['hourly', 'tides'],
  ['chatelet', 'salt'],
  ['salinity', 'salt'],
  ['wind', 'wind'],
  ['"wind speed"', 'wind'],
  ['"speed wind"', ''],
  ['lovelace salt', ''],
  ['', 'once failed again wind salt tides'],
  ['{salt id}', 'salt'],
  ['{salt digest prefix}', 'salt'],
  ['"', 'once failed again wind salt tides'],
  ['NOT AND OR', ''],
  ["' OR 1=1 --", ''],
  ['ada '.repeat(2000), 'once failed again wind salt tides'],
  [Array.from({ length: 2000 }, (_, index) => `a${index}`).join(' '), ''],
])('q=%j lists %j', async (q, expected) => {
  const filled = q
    .replace('{salt id}', packs.salt?.id ?? '')
    .replace('{salt digest prefix}', packs.salt?.digest.slice(0, 30) ?? '');
  expect(await listed(`?q=${encodeURIComponent(filled)}`)).toBe(expected);
});

test('combines q with filters', async () => {
  expect(await listed('?q=ada&node=ocean&outcome=negative')).toBe('salt');
  expect(await listed('?q=ada&flagged=true')).toBe('wind');
});

test.each([
  ['received', 'tides salt wind again failed once'],
  ['-received', 'once failed again wind salt tides'],
  ['title', 'wind again once salt tides failed'],
  ['-title', 'failed tides salt once again wind'],
  ['-replications', 'salt tides once failed again wind'],
  ['replications', 'wind again failed once tides salt'],
])('sort=%s', async (sort, expected) => {
  expect(await listed(`?sort=${sort}`)).toBe(expected);
  const kept = expected.split(' ').filter((name) => name !== 'wind');
  expect(await listed(`?sort=${sort}&flagged=false`)).toBe(kept.join(' '));
  expect(await listed(`?sort=${sort}&flagged=false&q=ada`)).toBe(kept.join(' '));
});

describe('pages', () => {
  test('next leads through all pages with the same query', async () => {
    const seen: string[] = [];
    let next: string | null = '/api/packs?sort=title&limit=2&flagged=false&q=%22ada%22%20a';
    while (next) {
      const page = (await (await node.fetch(next)).json()) as Awaited<ReturnType<typeof ask>>;
      expect(page.total).toBe(5);
      expect(page.items.length).toBeLessThanOrEqual(2);
      seen.push(...page.items.map(({ id }) => id));
      next = page.next;
    }
    expect(seen).toEqual(['again', 'once', 'salt', 'tides', 'failed'].map((name) => packs[name]?.id));
  });

  test('an offset beyond the end returns an empty page with the total', async () => {
    expect(await ask('?offset=100')).toEqual({ items: [], total: 6, limit: 100, offset: 100, next: null });
    expect(await ask('?offset=100&q=ada')).toMatchObject({ items: [], total: 6, next: null });
  });
});

test('a page of large records, which is streamed, is complete', async () => {
  const other = await openTestNode();
  const method = { text: 'ä'.repeat(200_000), complete: true };
  const added: string[] = [];
  for (let number = 0; number < 8; number += 1) {
    added.push((await uploadNewPack(other, { title: `Long ${number}`, method })).id);
  }
  const response = await other.fetch('/api/packs');
  expect(response.headers.get('Transfer-Encoding')).toBe('chunked');
  const { items, total } = (await response.json()) as { items: Pack[]; total: number };
  expect(total).toBe(8);
  expect(items.map(({ id }) => id)).toEqual(added.toReversed());
  expect(items.every((item) => item.method?.text === method.text)).toBe(true);
  const head = await other.fetch('/api/packs', { method: 'HEAD' });
  expect([head.status, await head.text()]).toEqual([200, '']);
});

test.each([
  ['?limit=0', 'invalid_limit'],
  ['?limit=501', 'invalid_limit'],
  ['?limit=ten', 'invalid_limit'],
  ['?limit=', 'invalid_limit'],
  ['?limit=1.5', 'invalid_limit'],
  ['?offset=-1', 'invalid_offset'],
  ['?offset=1e3', 'invalid_offset'],
  ['?color=red', 'unknown_parameter'],
  ['?outcome=good', 'invalid_parameter'],
  ['?outcome=', 'invalid_parameter'],
  ['?license=MIT', 'invalid_parameter'],
  ['?tag=x', 'invalid_parameter'],
  ['?verdict=maybe', 'invalid_parameter'],
  ['?flagged=yes', 'invalid_parameter'],
  ['?sort=size', 'invalid_parameter'],
  ['?study=mine', 'invalid_parameter'],
  ['?node=No', 'invalid_parameter'],
  ['?replicates=x', 'invalid_parameter'],
])('%s is 400 %s', async (query, code) => {
  expect(await problemOf(node.fetch(`/api/packs${query}`))).toMatchObject({ status: 400, code });
});
