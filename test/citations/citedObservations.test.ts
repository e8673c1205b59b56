import { parseFragment } from 'parse5';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { escapeHtml } from '../../server/html.ts';
import type { Event } from '../../shared/collection/event.ts';
import { type CollectingNode, openCollectingNode } from '../collection/support.ts';
import { addFinding } from '../findings/support.ts';
import { loadCitationReaders } from '../support/archive/citationReaders.ts';
import { problemOf, sha256Of, uploadNewPack } from '../support/archive/packs.ts';
import { closeScriptedWebs, page, ScriptedWeb } from '../support/network/scriptedWeb.ts';
import { closeTestNodes, DERIVING } from '../support/node.ts';
import { citationOf, HOSTILE_TITLES, plain, validDatacite } from './citationSupport.ts';

const PUBLIC = 'https://archive.example:8443';
const HTML = { headers: { 'content-type': 'text/html; charset=utf-8' } };
const others = loadCitationReaders();

let collecting: CollectingNode;
let web: ScriptedWeb;
/** The first version of a page, and the one after it. */
let events: Event[];
beforeAll(async () => {
  // The style blocks this process while it loads.
  others.apa({ id: 'x', type: 'webpage', title: 'Loads the style' });
  collecting = await openCollectingNode({}, { ...DERIVING, publicUrl: PUBLIC });
  web = await ScriptedWeb.open();
  const fees = (euros: number) => `<title>Fees &amp; charges</title><p>The fee is ${euros} euros.</p>`;
  web.script('/fees?year=2026', page(fees(10), HTML), page(fees(20), HTML));
  await collecting.watch(web.url('/fees?year=2026'), {
    name: 'Fee notice',
    agency: 'Deutscher Wetterdienst',
  });
  for (let round = 0; round < 2; round += 1) await collecting.check();
  events = (await collecting.events()).reverse();
});
afterAll(async () => {
  await closeTestNodes();
  await closeScriptedWebs();
});

/**
 * The grammar of the registration of the URN namespace `pwid`, over the characters that a URN may have (RFC 8141):
 * archive-id ":" archival-time ":" precision-spec ":" archived-item.
 */
const PWID = new RegExp(
  [
    '^urn:pwid',
    '(?<archive>[A-Za-z0-9._~-]+)',
    '(?<time>\\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\\d|3[01])T(?:[01]\\d|2[0-3]):[0-5]\\d:[0-5]\\dZ)',
    '(?<precision>part|page|subsite|site|collection|recording|snapshot|other)',
    "(?<item>[A-Za-z][A-Za-z0-9+.-]*:(?:[A-Za-z0-9._~!$&'()*+,;=:@/-]|%[0-9A-F]{2})+)$",
  ].join(':'),
);

function partsOfPwid(pwid: string | undefined) {
  const { archive, time, precision, item = '' } = PWID.exec(pwid ?? '')?.groups ?? {};
  return { archive, time, precision, item: decodeURIComponent(item) };
}

/** Returns the attributes and the text of the only element of some HTML. */
function linkIn(html: string | undefined) {
  const [link, ...more] = parseFragment(html ?? '').childNodes;
  if (link?.nodeName !== 'a' || !('attrs' in link) || more.length > 0) throw new Error(`No link: ${html}`);
  const text = link.childNodes.map((node) => ('value' in node ? node.value : node.nodeName)).join('');
  return { ...Object.fromEntries(link.attrs.map(({ name, value }) => [name, value])), text };
}

const seconds = (instant: string) => instant.replace(/\.\d+Z$/, 'Z');
const dayOf = (instant: string) => instant.slice(0, 10).split('-').map(Number);
const eventAt = (index: number) => {
  const event = events[index];
  if (!event?.sha256) throw new Error('The event has no version.');
  return { ...event, sha256: event.sha256 };
};

test('an event is cited in each format by its agency and title, with the address, the time and the archive', async () => {
  const { id, observed_at, sha256, source } = eventAt(1);
  const archived = `${PUBLIC}/timeline/${id}`;
  const { csl, apa, bibtex, ris, pwid, robust_link, ...rest } = await citationOf(collecting.node, String(id));
  expect(rest).toEqual({ id: String(id), url: `${collecting.node.url}/timeline/${id}`, digest: sha256 });
  const accessed = { 'date-parts': [dayOf(observed_at)] };
  expect(csl).toMatchObject({
    type: 'webpage',
    title: 'Fees & charges',
    author: [{ literal: 'Deutscher Wetterdienst' }],
    'container-title': '127.0.0.1',
    accessed,
    URL: source.url,
    archive_location: archived,
    note: expect.stringContaining(`Retrieved ${observed_at}; archived by`) as string,
  });
  expect(csl).not.toHaveProperty('issued');
  // The engine writes a site like a title.
  expect(apa.toLowerCase()).toBe(others.apa(csl).toLowerCase());
  expect(apa).toMatch(/^Deutscher Wetterdienst\. \(n\.d\.\)\. Fees & charges\. .* Retrieved .* from http:/);

  const [fromRis] = others.read('ris', ris);
  expect(fromRis).toMatchObject({ type: 'webpage', title: csl.title, URL: source.url, accessed });
  expect(fromRis).toMatchObject({ author: csl.author, archive_location: archived, note: csl.note });
  const [fromBibtex] = others.read('biblatex', bibtex);
  expect(fromBibtex).toMatchObject({ title: csl.title, URL: source.url, accessed, note: csl.note });
  expect(fromBibtex?.author).toMatchObject([{ family: 'Deutscher Wetterdienst' }]);
  expect(await validDatacite(collecting.node, String(id))).toMatchObject({
    url: archived,
    dates: [{ date: observed_at.slice(0, 10), dateType: 'Collected' }],
    formats: ['text/html'],
    relatedIdentifiers: [{ relatedIdentifier: source.url, relationType: 'IsVersionOf' }],
  });

  expect(partsOfPwid(pwid)).toEqual({
    archive: 'archive.example',
    time: seconds(observed_at),
    precision: 'part',
    item: source.url,
  });
  expect(linkIn(robust_link)).toEqual({
    href: source.url,
    'data-originalurl': source.url,
    'data-versionurl': archived,
    'data-versiondate': seconds(observed_at),
    text: 'Fees & charges',
  });
  for (const [format, text, mediaType] of [
    ['pwid', pwid, 'text/plain; charset=utf-8'],
    ['robust_link', robust_link, 'text/html; charset=utf-8'],
  ] as const) {
    const answer = await collecting.node.fetch(`/api/items/${id}/cite?format=${format}`);
    expect([await answer.text(), answer.headers.get('Content-Type')]).toEqual([text, mediaType]);
  }
});

test('an object is cited as the retrieval that source and at select, and as its first without them', async () => {
  const { sha256, source, observed_at } = eventAt(0);
  web.script('/same', page('<title>Fees &amp; charges</title><p>The fee is 10 euros.</p>', HTML));
  const { id: other } = await collecting.watch(web.url('/same'));
  await collecting.check([other]);
  const [later] = await collecting.events(`source=${other}`);
  expect(later?.sha256).toBe(sha256);
  const cited = async (query: string) =>
    linkIn(
      await (await collecting.node.fetch(`/api/items/${sha256}/cite?format=robust_link${query}`)).text(),
    );
  const at = (id: string, instant: string) =>
    `${PUBLIC}/view/${sha256}?${new URLSearchParams({ source: id, at: instant }).toString()}`;
  expect(await cited('')).toMatchObject({
    href: source.url,
    'data-versionurl': at(source.id, observed_at),
    'data-versiondate': seconds(observed_at),
  });
  expect(await cited(`&source=${other}&at=${later?.observed_at}`)).toMatchObject({
    href: web.url('/same'),
    'data-versionurl': at(other, String(later?.observed_at)),
    text: 'Fees & charges',
  });
});

test('a finding is cited with its quotation, as of the version that it quotes; about a pack, as the pack', async () => {
  const { node } = collecting;
  const [{ sha256, observed_at, source }, { id }] = [eventAt(0), eventAt(1)];
  const finding = await addFinding(
    node,
    { kind: 'event', id: String(id) },
    {
      text: 'It was half\nof that.',
      tags: ['fees'],
      passage: { sha256, exact: 'fee is 10' },
    },
  );
  const { csl, digest, pwid, robust_link } = await citationOf(node, finding.id);
  const archived = `${PUBLIC}/findings?state=all&q=${finding.id}`;
  expect([digest, csl]).toMatchObject([
    sha256,
    {
      id: finding.id,
      abstract: '“fee is 10” It was half of that.',
      keyword: 'fees',
      archive_location: archived,
    },
  ]);
  expect(partsOfPwid(pwid)).toMatchObject({ time: seconds(observed_at), item: source.url });
  expect(linkIn(robust_link)).toMatchObject({ 'data-versionurl': archived, href: source.url });

  const pack = await uploadNewPack(node, { title: 'Sea level' });
  const onPack = await addFinding(node, { kind: 'pack', id: pack.id }, { text: 'Read this.' });
  const citation = await citationOf(node, onPack.id);
  expect(citation).not.toHaveProperty('pwid');
  expect(citation.apa).toBe(
    `Lovelace, A. (${pack.evidence.received_at.slice(0, 4)}). Sea level [Data set]. ${citation.csl.publisher}. ${PUBLIC}/findings?state=all&q=${onPack.id}`,
  );
});

test('no title and no address breaks a format; without a public address the digest says where the bytes are', async () => {
  const alone = await openCollectingNode({}, DERIVING);
  const address = web.url('/a%20b{c}|d?q=%7B"x"[y]}');
  const path = new URL(address).pathname + new URL(address).search;
  const titles = HOSTILE_TITLES.map((title) => page(`<title>${escapeHtml(title)}</title><p>Text.</p>`, HTML));
  web.script(path, ...titles);
  const { url } = await alone.watch(address);
  for (const _ of titles) await alone.check();
  const seen = await alone.events();
  expect(seen).toHaveLength(titles.length);
  for (const { id, sha256 } of seen) {
    await validDatacite(alone.node, String(id));
    const { csl, apa, bibtex, ris, pwid, robust_link } = await citationOf(alone.node, String(id));
    expect(others.read('ris', ris)).toMatchObject([{ title: csl.title, URL: url }]);
    const [fromBibtex, ...more] = others.read('bibtex', bibtex);
    const braces = url.replace(/[{}]/g, encodeURIComponent);
    expect([plain(fromBibtex?.title), fromBibtex?.URL, more], bibtex).toEqual([csl.title, braces, []]);
    expect(apa).toContain(`(urn:sha256:${sha256}). 127.0.0.1. Retrieved `);
    const link = linkIn(robust_link);
    expect(link).toMatchObject({ href: url, 'data-versionurl': `urn:sha256:${sha256}`, text: csl.title });
    expect(partsOfPwid(pwid)).toMatchObject({ archive: csl.archive?.replace('/', '-'), item: url });
  }
});

test('an event without a version has no PWID and no link; what is not there is not cited', async () => {
  const { node } = collecting;
  web.script('/gone', page('Here'), page('Gone', { status: 500 }));
  const { id: source } = await collecting.watch(web.url('/gone'));
  for (let round = 0; round < 4; round += 1) await collecting.check([source]);
  const [lost] = await collecting.events(`source=${source}&event_type=unavailable`);
  const citation = await citationOf(node, String(lost?.id));
  expect(citation.apa).toMatch(/^Unavailable: http.*\/gone\. \(n\.d\.\)\. .* Observed .*, at http:.*\/gone$/);
  expect(citation).toMatchObject({
    digest: null,
    csl: { archive_location: `${PUBLIC}/timeline/${lost?.id}` },
  });
  expect(Object.keys(citation)).toEqual(['id', 'url', 'digest', 'csl', 'apa', 'bibtex', 'ris']);
  const pack = await uploadNewPack(node);
  for (const [id, query] of [
    [String(lost?.id), '?format=pwid'],
    [pack.id, '?format=robust_link'],
    [String(lost?.id), '?format=croissant'],
    ['999999', ''],
    ['0', ''],
    [sha256Of('nothing'), ''],
    [`fi_${'0'.repeat(20)}`, ''],
    [`pg_${'0'.repeat(20)}`, ''],
    [eventAt(0).sha256, `?source=so_${'0'.repeat(20)}`],
  ])
    expect(await problemOf(node.fetch(`/api/items/${id}/cite${query}`)), `${id}${query}`).toMatchObject({
      status: 404,
      code: 'not_found',
    });
  const wrong = node.fetch(`/api/items/${eventAt(0).sha256}/cite?at=yesterday`);
  expect(await problemOf(wrong)).toMatchObject({ status: 400, code: 'invalid_parameter' });
});
