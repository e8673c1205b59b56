import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { nodeCrypto } from '../../server/ledger/checkpoint.ts';
import type { Citation } from '../../shared/archive/citation.ts';
import { mementoTimestamp } from '../../shared/collection/captures.ts';
import type { Event } from '../../shared/collection/event.ts';
import { checkEvidence } from '../../shared/proof/evidence/checkEvidence.ts';
import type { Evidence } from '../../shared/proof/evidence/evidence.ts';
import { validated } from '../collection/captures/wacz/support.ts';
import { recordsOf } from '../collection/captures/warcExport/warcSupport.ts';
import { problemOf } from '../support/archive/packs.ts';
import { closeScriptedWebs } from '../support/network/scriptedWeb.ts';
import { closeTestNodes, temporaryFolder } from '../support/node.ts';
import { runHere } from '../support/runHere.ts';
import { archiveWithSecrets, builtInterface, type SecretArchive, showAll, withholdAll } from './support.ts';

let archive: SecretArchive;
let changed: Event;
beforeAll(async () => {
  archive = await archiveWithSecrets();
  const [found] = await archive.node.events(`event_type=changed&q=${archive.versions[0]}`);
  if (!found) throw new Error('No version changed.');
  changed = found;
});
afterAll(async () => {
  await closeTestNodes();
  await closeScriptedWebs();
});

const asVisitor = (path: string, init?: RequestInit) => archive.node.node.fetch(path, init);
const asOwner = (path: string, init?: RequestInit) => archive.node.node.fetchAsOwner(path, init);
const change = (method: 'POST' | 'DELETE', body: object) =>
  archive.node.node.sendJson(method, '/manage/withheld', body);
const json = async <Body = Record<string, unknown>>(response: Promise<Response>) =>
  (await (await response).json()) as Body;

/** Withholds for the length of a test. */
const lifted: object[] = [];
async function withhold(target: object, reason = 'personal_data'): Promise<void> {
  expect((await change('POST', { ...target, reason })).status).toBe(201);
  lifted.push(target);
}
afterEach(async () => {
  for (const target of lifted.splice(0)) await change('DELETE', target);
});

/** The addresses of the bytes of a version, and of what is made of them. */
function addressesOf(sha256: string): string[] {
  const stamp = mementoTimestamp(changed.observed_at);
  return [
    ...['', '/text', '/view', '/page', '/page/resources'].map((part) => `/archive/${sha256}${part}`),
    `/api/blobs/${sha256}`,
    `/memento/${stamp}/${changed.source.url}`,
    `/api/events/${changed.id}/diff`,
    `/api/events/${changed.id}/quality`,
  ];
}

describe('bytes that are withheld', () => {
  test('are refused with 451, the reason and since when, whatever the request asks of them', async () => {
    const sha256 = String(changed.sha256);
    for (const path of addressesOf(sha256)) expect((await asVisitor(path)).status, path).toBe(200);
    const tags = await Promise.all(
      [`/archive/${sha256}`, `/api/events/${changed.id}/diff`].map(async (path) => ({
        path,
        tag: (await asVisitor(path)).headers.get('ETag') ?? '',
      })),
    );
    await withhold({ sha256 });
    for (const path of addressesOf(sha256)) {
      expect(await problemOf(asVisitor(path)), path).toMatchObject({
        status: 451,
        code: 'withheld',
        reason: 'personal_data',
        since: expect.stringMatching(/^\d{4}-.*Z$/) as string,
      });
      const asked = { method: 'HEAD' };
      const head = await asVisitor(path, asked);
      expect([head.status, head.headers.get('Cache-Control')], path).toEqual([451, 'no-store']);
    }
    for (const { path, tag } of tags)
      expect((await asVisitor(path, { headers: { 'If-None-Match': tag } })).status, path).toBe(451);
    const conditions: Record<string, string>[] = [
      { Range: 'bytes=0-3' },
      { Range: 'bytes=9999999-' },
      { 'If-Match': '"no"' },
    ];
    for (const headers of conditions)
      expect((await asVisitor(`/archive/${sha256}`, { headers })).status).toBe(451);
  });

  test('are sent to the owner, marked, and no cache may keep them', async () => {
    const sha256 = String(changed.sha256);
    const [object, blob] = [`/archive/${sha256}`, `/api/blobs/${sha256}`];
    const shown = await asVisitor(object);
    expect(shown.headers.get('Cache-Control')).toBe('public, no-cache');
    expect(shown.headers.get('Strongroom-Withheld')).toBeNull();
    const tag = { headers: { 'If-None-Match': shown.headers.get('ETag') ?? '' } };
    expect((await asVisitor(object, tag)).status).toBe(304);
    await withhold({ sha256 }, 'copyright');
    for (const path of [object, blob, ...addressesOf(sha256).filter((each) => /memento|diff/.test(each))]) {
      const answer = await asOwner(path);
      expect(answer.status, path).toBe(200);
      expect(answer.headers.get('Cache-Control'), path).toBe('private, no-store');
      expect(answer.headers.get('Strongroom-Withheld'), path).toBe('copyright');
    }
    for (const path of addressesOf(sha256)) expect((await asOwner(path)).status, path).toBe(200);
    expect(await json(asOwner(`/archive/${sha256}/view`))).toMatchObject({
      withheld: { reason: 'copyright' },
    });
  });

  test('are marked in what stays public', async () => {
    const { pages, packs } = archive;
    const [sha256, page] = [String(changed.sha256), pages[0]?.id];
    const unmarked = await json(asVisitor(`/archive/pages/${page}`));
    await withhold({ sha256 }, 'legal_order');
    await withhold({ page }, 'login');
    await withhold({ pack: packs[0] }, 'owner');
    const mark = (reason: string) => ({ reason, since: expect.any(String) as string });
    for (const ask of [asVisitor, asOwner]) {
      expect(await json(ask(`/archive/${sha256}/metadata`))).toMatchObject({ withheld: mark('legal_order') });
      expect(await json(ask(`/api/events/${changed.id}`))).toMatchObject({ withheld: mark('legal_order') });
      // The mark is beside what the ledger covers.
      const { withheld, ...rest } = await json(ask(`/archive/pages/${page}`));
      expect([withheld, rest]).toEqual([mark('login'), unmarked]);
      expect(await json(ask(`/api/packs/${packs[0]}`))).toMatchObject({
        evidence: { withheld: [mark('owner')] },
      });
    }
    const { id } = changed;
    const next = (await archive.node.events()).find(({ previous_sha256 }) => previous_sha256 === sha256);
    if (next) {
      expect(await json(asVisitor(`/api/events/${next.id}`))).toMatchObject({
        previous_withheld: mark('legal_order'),
      });
      expect((await asVisitor(`/api/events/${next.id}/diff`)).status).toBe(451);
    }
    const summaries = async (ask: typeof asVisitor) =>
      (await json<{ items: Event[] }>(ask('/api/events?summaries=true'))).items.find((each) => each.id === id)
        ?.summary;
    expect([await summaries(asVisitor), await summaries(asOwner)]).toEqual([null, expect.any(String)]);
    const csv = async (ask: typeof asVisitor) => (await ask('/api/events?format=csv')).text();
    expect(await csv(asVisitor)).not.toMatch(/zymurgical/);
    expect(await csv(asOwner)).toMatch(/zymurgical/);
    // Readers of feeds pass them on.
    expect(await (await asOwner('/api/events.atom')).text()).not.toMatch(/zymurgical/);
  });
});

test('a pack with a withheld file is refused as a file, and so is each comparison with it', async () => {
  const [older, newer] = archive.packs;
  const addresses = [
    `/api/packs/${newer}/file`,
    `/api/packs/${older}/compare/file?with=${newer}&path=data.csv`,
  ];
  const tags = await Promise.all(
    addresses.map(async (path) => (await asVisitor(path)).headers.get('ETag') ?? ''),
  );
  await withhold({ pack: newer });
  for (const [index, path] of addresses.entries()) {
    const headers = { 'If-None-Match': tags[index] ?? '' };
    expect((await asVisitor(path)).status, path).toBe(451);
    expect((await asVisitor(path, { headers })).status, path).toBe(451);
    expect((await asOwner(path)).headers.get('Strongroom-Withheld'), path).toBe('personal_data');
  }
  expect((await asVisitor(`/api/packs/${older}/file`)).status).toBe(200);
  expect((await asVisitor(`/api/packs/${older}/compare?with=${newer}`)).status).toBe(200);
});

test('what a drawn page showed is withheld with it: picture, text, document, thumbnail and comparisons', async () => {
  const [newer, older] = archive.pages;
  const paths = ['picture', 'text', 'document', 'thumbnail', `compare/${older?.id}`].map(
    (part) => `/archive/pages/${newer?.id}/${part}`,
  );
  const thumbnail = `/archive/pages/${newer?.id}/thumbnail`;
  const tag = (await asVisitor(thumbnail)).headers.get('ETag') ?? '';
  expect((await asVisitor(thumbnail, { headers: { 'If-None-Match': tag } })).status).toBe(304);
  for (const path of paths) expect((await asVisitor(path)).status, path).toBe(200);
  await withhold({ sha256: newer?.text });
  for (const path of paths) {
    expect((await asVisitor(path)).status, path).toBe(451);
    expect((await asOwner(path)).status, path).toBe(200);
  }
  expect((await asVisitor(thumbnail, { headers: { 'If-None-Match': tag } })).status).toBe(451);
});

test('a shown page lacks what is withheld in it for visitors only, from the moment on, and until it is shown again', async () => {
  const { sha256, style } = archive.album;
  const seen = async (ask: typeof asVisitor) => ({
    hasStyle: (await (await ask(`/archive/${sha256}/page`)).text()).includes('crepuscular'),
    missing: (await json<{ missing: unknown }>(ask(`/archive/${sha256}/page/resources`))).missing,
  });
  const whole = { hasStyle: true, missing: [] };
  expect([await seen(asVisitor), await seen(asOwner)]).toEqual([whole, whole]);
  await withhold({ sha256: style });
  const missing = [{ url: expect.stringMatching(/style\.css$/) as string, reason: 'withheld' }];
  for (let round = 0; round < 2; round += 1)
    expect([await seen(asVisitor), await seen(asOwner)]).toEqual([{ hasStyle: false, missing }, whole]);
  await change('DELETE', { sha256: style });
  expect(await seen(asVisitor)).toEqual(whole);
});

test('visitors neither find nor count withheld texts; the owner finds them marked', async () => {
  const search = (ask: typeof asVisitor, query: string) =>
    json<{ total: number; items: { withheld?: true }[] }>(ask(`/api/search?${query}`));
  const all = await search(asVisitor, 'q=');
  await withhold({ sha256: archive.captured });
  await withhold({ pack: archive.packs[0] });
  for (const word of ['vellichor', 'obnubilate']) {
    expect(await search(asVisitor, `q=${word}`)).toMatchObject({ total: 0, items: [] });
    expect(await search(asOwner, `q=${word}`)).toMatchObject({ total: 1, items: [{ withheld: true }] });
  }
  expect((await search(asVisitor, 'q=')).total).toBe(all.total - 2);
  expect((await search(asOwner, 'q=')).total).toBe(all.total);
  await change('DELETE', { sha256: archive.captured });
  expect(await search(asVisitor, 'q=vellichor')).toMatchObject({ total: 1 });
});

test('of the versions of a source, a visitor finds those that are shown', async () => {
  const [newest, ...others] = archive.versions;
  const found = async (ask: typeof asVisitor) =>
    (
      await json<{ items: { sha256: string; other_versions: number }[] }>(
        ask('/api/search?q=afternoon&in=sources'),
      )
    ).items.map(({ sha256, other_versions }) => [sha256, other_versions]);
  expect(await found(asVisitor)).toEqual([[newest, 2]]);
  await withhold({ sha256: newest });
  expect(await found(asVisitor)).toEqual([[others[0], 1]]);
  expect(await found(asOwner)).toEqual([[newest, 2]]);
});

describe('with all secrets withheld', () => {
  beforeAll(() => withholdAll(archive));
  afterAll(() => showAll(archive));

  test('a WARC file for visitors is valid, and its metadata says what is left out; the owner’s is whole', async () => {
    const statesIn = async (ask: typeof asVisitor) => {
      const records = await recordsOf(Buffer.from(await (await ask('/api/warc')).arrayBuffer()));
      const ids = records.map(({ field }) => field('WARC-Record-ID'));
      expect(new Set(ids).size).toBe(ids.length);
      const of = (wanted: string) => records.filter(({ type }) => type === wanted);
      const states = of('metadata').flatMap(
        ({ block }) => /object-state: (.*)\r/.exec(block.toString())?.[1] ?? [],
      );
      return { states: new Set(states), responses: of('response').length, metadata: of('metadata').length };
    };
    const [visitors, owners] = [await statesIn(asVisitor), await statesIn(asOwner)];
    expect([...visitors.states]).toEqual(['withheld']);
    expect([...owners.states]).toEqual([]);
    // The album is shown to everyone, and every attempt is listed.
    expect(visitors.responses).toBe(1);
    expect(owners.responses).toBeGreaterThan(5);
    expect(visitors.metadata).toBe(owners.metadata);
    // Nothing of it is damaged.
    expect(await json(asVisitor('/api/damages'))).toMatchObject({ total: 0 });
  });

  test('a package for visitors is valid, and lists the pages without their texts', async () => {
    const packaged = async (ask: typeof asVisitor) =>
      validated(Buffer.from(await (await ask('/api/wacz')).arrayBuffer()));
    const [visitors, owners] = [await packaged(asVisitor), await packaged(asOwner)];
    const drawn = ({ pages }: typeof visitors) => pages.filter(({ id }) => id.startsWith('pg_'));
    expect(drawn(visitors).map(({ id, text }) => [id, text])).toEqual(
      drawn(owners).map(({ id }) => [id, undefined]),
    );
    expect(drawn(owners).every(({ text }) => /petrichor|gloaming/.test(text ?? ''))).toBe(true);
    expect([...new Set(visitors.entries.map(({ url }) => new URL(url).pathname))]).toEqual(['/album']);
  });

  test('evidence files for visitors hold without the bytes and the diff; the owner’s have them', async () => {
    const evidence = async (ask: typeof asVisitor, path: string) => {
      const html = await (await ask(path)).text();
      return JSON.parse(/id="evidence">([^<]*)</.exec(html)?.[1] ?? '') as Evidence;
    };
    for (const path of [`/api/events/${changed.id}/evidence`, `/api/packs/${archive.packs[0]}/evidence`]) {
      const [visitors, owners] = [await evidence(asVisitor, path), await evidence(asOwner, path)];
      for (const each of [visitors, owners])
        expect(checkEvidence(each, nodeCrypto).filter(({ state }) => state === 'fails')).toEqual([]);
      expect(visitors.files.map(({ content }) => content)).toEqual(visitors.files.map(() => null));
      expect(visitors.diff).toBeNull();
      expect(owners.files.map(({ sha256 }) => sha256)).toEqual(visitors.files.map(({ sha256 }) => sha256));
      expect(owners.files.every(({ content }) => content !== null)).toBe(true);
    }
  });

  test('the bag of a case for visitors is valid, and its index names what is left out', async () => {
    const bag = async (ask: typeof asVisitor) => {
      const file = join(await temporaryFolder(), 'case.zip');
      await writeFile(
        file,
        Buffer.from(await (await ask(`/api/cases/${archive.ownCase}/bag`)).arrayBuffer()),
      );
      return runHere(['verify', file], undefined, { rendererFolder: await builtInterface() });
    };
    expect(await bag(asVisitor)).toMatchObject({ code: 0 });
    expect(await bag(asOwner)).toMatchObject({ code: 0 });
  });

  test('a finding keeps its text, and loses the quotation for visitors', async () => {
    const path = `/api/findings/${archive.finding}`;
    expect(await json(asVisitor(path))).toMatchObject({
      text: 'Note this.',
      passage: null,
      withheld: { reason: 'personal_data' },
    });
    expect(await json(asOwner(path))).toMatchObject({ passage: { exact: 'A zymurgical afternoon' } });
  });

  test('a citation has a title and a quotation only for those who may read the bytes', async () => {
    const { finding, versions, pages } = archive;
    const cited = async (ask: typeof asVisitor, id: string) => {
      const { csl, pwid } = await json<Citation>(ask(`/api/items/${id}/cite`));
      return { title: csl.title, abstract: csl.abstract, pwid: /:(part|page):/.exec(pwid ?? '')?.[1] };
    };
    const address = changed.source.url;
    const title = expect.stringMatching(/^Notes on \w+ days$/) as string;
    for (const id of [String(changed.id), ...versions]) {
      expect(await cited(asVisitor, id)).toEqual({ title: address, abstract: undefined, pwid: 'part' });
      expect(await cited(asOwner, id)).toEqual({ title, abstract: undefined, pwid: 'part' });
    }
    expect(await cited(asVisitor, finding)).toMatchObject({ title: address, abstract: 'Note this.' });
    expect(await cited(asOwner, finding)).toMatchObject({
      title,
      abstract: '“A zymurgical afternoon” Note this.',
    });
    for (const { id, text } of pages) {
      expect(await cited(asVisitor, id)).toMatchObject({
        title: expect.stringMatching(/^http:.*shop$/) as string,
        pwid: 'page',
      });
      expect(await cited(asOwner, id)).toMatchObject({ title: 'Shop', pwid: 'page' });
      expect(await cited(asOwner, text)).toMatchObject({ title: 'Shop', pwid: 'page' });
    }
  });

  test('a search for words of the quotation finds it only for the owner', async () => {
    const found = async (ask: typeof asVisitor, path: string) => (await ask(path)).text();
    for (const path of [
      '/api/findings?q=',
      '/api/findings?format=csv&q=',
      '/api/findings?format=jsonld&q=',
    ]) {
      expect(await found(asVisitor, `${path}zymurgical`), path).not.toContain(archive.finding);
      expect(await found(asVisitor, `${path}note`), path).toContain(archive.finding);
      expect(await found(asOwner, `${path}zymurgical`), path).toContain(archive.finding);
    }
  });

  test('the columns of a table are the owner’s to see', async () => {
    const described = async (ask: typeof asVisitor) =>
      (await ask(`/api/items/${archive.packs[0]}/cite?format=croissant`)).text();
    expect(await described(asVisitor)).not.toContain('obnubilate');
    expect(await described(asOwner)).toContain('obnubilate');
  });

  test('the ledger still verifies, and everything that is recorded can be read', async () => {
    expect(await json(asVisitor('/api/ledger/verify'))).toMatchObject({ ok: true });
    const { sha256 } = changed;
    for (const path of [
      `/api/events/${changed.id}`,
      `/api/events/${changed.id}/retrieval`,
      `/archive/${sha256}/metadata`,
      `/archive/pages/${archive.pages[0]?.id}`,
      `/api/packs/${archive.packs[0]}`,
      `/api/lookup?sha256=${sha256}`,
      `/timemap/link/${changed.source.url}`,
    ])
      expect((await asVisitor(path)).status, path).toBe(200);
  });
});

test('bytes that were given up are refused with 410 to everyone, and the record says so', async () => {
  const sha256 = String(changed.sha256);
  const answer = await archive.node.node.sendJson('POST', '/manage/released', {
    sha256,
    reason: 'legal_order',
  });
  expect(answer.status).toBe(201);
  for (const path of addressesOf(sha256))
    for (const ask of [asVisitor, asOwner])
      expect(await problemOf(ask(path)), path).toMatchObject({
        status: 410,
        code: 'released',
        reason: 'legal_order',
      });
  for (const ask of [asVisitor, asOwner]) {
    expect(await json(ask(`/archive/${sha256}/metadata`))).toMatchObject({
      released: { reason: 'legal_order' },
    });
    expect(await json(ask(`/api/events/${changed.id}`))).toMatchObject({
      released: { reason: 'legal_order' },
    });
    const warc = Buffer.from(await (await ask('/api/warc')).arrayBuffer()).toString('latin1');
    expect(warc).toContain('object-state: released');
    expect(warc).not.toContain('zymurgical');
  }
  expect(await json(asVisitor('/api/damages'))).toMatchObject({ total: 0 });
});
