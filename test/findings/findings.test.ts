import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { anchoredPassage, placedPassage } from '../../server/collection/derived/passages/inText.ts';
import { Passages } from '../../server/collection/derived/passages/passages.ts';
import type { DeriveTask } from '../../server/collection/derived/process/tasks.ts';
import { readFinding, addFinding as recordFinding } from '../../server/findings/findings.ts';
import { type FindsPassages, PassageAnchors } from '../../server/findings/passageAnchors.ts';
import { createLog } from '../../server/runtime/log.ts';
import { createBlobRowIfAbsent } from '../../server/store/sqlite/node/blobs.ts';
import { OWNER } from '../../server/withholding/withholding.ts';
import type { Event } from '../../shared/collection/event.ts';
import { type Finding, type FindingDetails, newFindingSchema } from '../../shared/findings/finding.ts';
import type { LedgerEntry } from '../../shared/ledger/ledger.ts';
import { Problem } from '../../shared/problems.ts';
import { canonicalText } from '../../shared/values/canonicalJson.ts';
import { type CollectingNode, openCollectingNode } from '../collection/support.ts';
import { problemOf, sha256Of, uploadNewPack } from '../support/archive/packs.ts';
import { closeScriptedWebs, page, ScriptedWeb } from '../support/network/scriptedWeb.ts';
import { closeTestNodes, type TestNode, temporaryFolder } from '../support/node.ts';
import { pdfOf } from '../support/pdf.ts';
import { closeTestStores, openTestStore } from '../support/store.ts';
import { addFinding, findings, verifiedLedger, withdraw } from './support.ts';

let collecting: CollectingNode;
let node: TestNode;
let event: Event;
let pack: string;
beforeAll(async () => {
  collecting = await openCollectingNode();
  ({ node } = collecting);
  const web = await ScriptedWeb.open();
  web.script('/notice', page('<p>The fee is 10 euros.'), page('<p>The fee is 20 euros.'));
  await collecting.watch(web.url('/notice'), { name: 'Fee notice' });
  await collecting.check();
  await collecting.check();
  event = (await collecting.events())[0] as Event;
  ({ id: pack } = await uploadNewPack(node, undefined, { 'a.csv': 'a\n1\n' }));
});
afterAll(async () => {
  await closeTestNodes();
  await closeScriptedWebs();
});

const aboutEvent = () => ({ kind: 'event' as const, id: String(event.id) });
const post = (body: object) => node.sendJson('POST', '/manage/findings', body);

describe('a finding', () => {
  test('quotes a passage of an event, is recorded in the ledger, and its record has the digest of the entry', async () => {
    const passage = {
      sha256: event.sha256,
      exact: 'fee is 20',
      prefix: 'The ',
      suffix: ' euros.',
      start: 4,
      end: 13,
    };
    const finding = await addFinding(node, aboutEvent(), {
      text: 'Doubled',
      tags: ['fees', 'Gebühr'],
      passage,
    });
    expect(finding).toEqual({
      id: expect.stringMatching(/^fi_[0-9a-f]{20}$/),
      at: expect.any(String),
      target: aboutEvent(),
      target_name: 'Fee notice',
      text: 'Doubled',
      tags: ['fees', 'Gebühr'],
      passage: {
        ...passage,
        page: null,
        derived: {
          tool: 'strongroom-html-text',
          version: expect.stringMatching(/^1\+/),
          text: sha256Of('The fee is 20 euros.'),
          words_once: true,
          context_once: true,
          dom_path: '/html[1]/body[1]/p[1]',
        },
      },
      anchor: null,
      supersedes: null,
      superseded_by: null,
      withdrawal: null,
      ledger_entry: expect.any(Number),
    });
    const { target_name: _name, superseded_by: _newer, anchor: _anchor, ledger_entry, ...record } = finding;
    const { items } = (await (await node.fetch(`/api/ledger?from=${ledger_entry}&limit=1`)).json()) as {
      items: LedgerEntry[];
    };
    expect(items[0]).toMatchObject({
      type: 'finding.added',
      subject: finding.id,
      digest: sha256Of(canonicalText(record)),
    });
    expect(await verifiedLedger(node)).toMatchObject({ ok: true });
  });

  test('is found by words, tags, its quotation, its target and the object it quotes', async () => {
    const quoted = { sha256: null, exact: 'Zwanzig Euro' };
    const finding = await addFinding(
      node,
      { kind: 'pack', id: pack },
      { text: 'Überhöht', tags: ['Köln'], passage: quoted },
    );
    const other = await addFinding(node, { kind: 'object', id: event.sha256 ?? '' }, { text: 'An object' });
    const onlyOf = async (query: string) => (await findings(node, query)).items.map(({ id }) => id);
    for (const q of ['uberhoht', 'koln', '"zwanzig euro"', pack, 'Cuxhaven uberhoht'])
      expect(await onlyOf(`q=${encodeURIComponent(q)}`), q).toEqual([finding.id]);
    expect(await onlyOf('tag=K%C3%B6ln')).toEqual([finding.id]);
    expect(await onlyOf(`pack=${pack}`)).toEqual([finding.id]);
    expect(await onlyOf(`object=${event.sha256}`)).toContain(other.id);
    expect((await findings(node, `object=${event.sha256}`)).items.map(({ text }) => text)).toContain(
      'Doubled',
    );
    expect((await findings(node, `event=${event.id}`)).items.map(({ text }) => text)).toEqual(['Doubled']);
    expect(await (await node.fetch('/api/findings/tags')).json()).toMatchObject({
      tags: expect.arrayContaining([{ tag: 'Köln', findings: 1 }]),
    });
  });

  test('is superseded once, and withdrawn with a reason; every version stays readable', async () => {
    const first = await addFinding(node, aboutEvent(), { text: 'Wrong', tags: ['draft'] });
    const second = await addFinding(node, aboutEvent(), { text: 'Better', supersedes: first.id });
    const superseded = { target: aboutEvent(), text: 'Again', supersedes: first.id };
    expect(await problemOf(post(superseded))).toMatchObject({ status: 409, code: 'finding_superseded' });
    const withdrawal = await withdraw(node, second, 'The source was misread.');
    expect(withdrawal).toMatchObject({
      text: '',
      supersedes: second.id,
      withdrawal: 'The source was misread.',
    });
    const again = node.sendJson('POST', `/manage/findings/${second.id}/withdraw`, { reason: 'x' });
    expect(await problemOf(again)).toMatchObject({ status: 409, code: 'finding_superseded' });
    const onWithdrawal = { target: aboutEvent(), text: 'x', supersedes: withdrawal.id };
    expect(await problemOf(post(onWithdrawal))).toMatchObject({ code: 'finding_superseded' });
    const read = (await (await node.fetch(`/api/findings/${first.id}`)).json()) as FindingDetails;
    expect(read).toMatchObject({ text: 'Wrong', superseded_by: second.id });
    expect(read.history.map(({ id }) => id)).toEqual([first.id, second.id, withdrawal.id]);
    const shown = (await findings(node)).items.map(({ id }) => id);
    for (const { id } of [first, second, withdrawal]) expect(shown).not.toContain(id);
    expect((await findings(node, 'tag=draft')).total).toBe(0);
    expect((await findings(node, 'state=withdrawn')).items.map(({ id }) => id)).toEqual([withdrawal.id]);
    expect((await findings(node, 'state=superseded')).items.map(({ id }) => id)).toEqual([
      second.id,
      first.id,
    ]);
    expect(await verifiedLedger(node)).toMatchObject({ ok: true });
  });
});

test('the node places a quotation in the text, and leaves one that is not there, or at several places, as it was entered', async () => {
  const quote = async (passage: object) =>
    (await addFinding(node, aboutEvent(), { passage: { sha256: event.sha256, ...passage } })).passage;
  expect(await quote({ exact: 'FEE is 20' })).toMatchObject({ exact: 'FEE is 20', start: null });
  expect(await quote({ exact: 'e' })).toMatchObject({ start: null });
  expect(await quote({ exact: 'e', suffix: ' is' })).toMatchObject({ start: 6, end: 7, prefix: 'The fe' });
  expect(await quote({ exact: 'The\u00a0fee is', start: 3, end: 9 })).toMatchObject({
    exact: 'The fee is',
    start: 0,
    suffix: ' 20 euros.',
    derived: { words_once: true },
  });
});

test('a quotation that names no object is looked for in that of its target, by the number of the event too', async () => {
  const { sha256 } = event;
  const placed = { sha256, start: 11, end: 19, prefix: 'The fee is ', derived: { words_once: true } };
  const passage = { exact: '20 euros' };
  for (const target of [
    aboutEvent(),
    { kind: 'event', id: event.id },
    { kind: 'object', id: sha256 ?? '' },
  ]) {
    const answer = await post({ target, text: 'Noted', passage });
    expect(answer.status, await answer.clone().text()).toBe(201);
    const finding = (await answer.json()) as Finding;
    expect(finding).toMatchObject({ target: { ...target, id: String(target.id) }, passage: placed });
    const { evidence } = (await (await node.fetch(`/api/findings/${finding.id}`)).json()) as FindingDetails;
    expect(evidence).toBe(`/api/findings/${finding.id}/evidence#:~:text=20%20euros`);
  }
  const sealed = await post({ target: aboutEvent(), text: 'Noted', passage, sealed: true });
  const { id } = (await sealed.json()) as { id: string };
  const revealed = await node.fetchAsOwner(`/manage/findings/${id}/reveal`, { method: 'POST' });
  expect(await revealed.json()).toMatchObject({ passage: placed });
  // Whoever looked and found the words nowhere says so.
  const nowhere = await addFinding(node, aboutEvent(), { passage: { sha256: null, exact: '20 euros' } });
  expect(nowhere.passage).toMatchObject({ sha256: null, start: null });
});

test('a passage is kept with the element of the page, or the box in the PDF, that has it', async () => {
  const html =
    '<h1>Fees</h1><p>Adults<script>let fee = 20</script> pay <b>20 <i>euros</i></b>.<p>Children pay 5 euros.';
  const pdf = Buffer.from(pdfOf(['Opening hours', 'The fee is 20 euros for adults.']));
  const { id } = await uploadNewPack(node, undefined, { 'fees.html': html, 'fees.pdf': pdf });
  const placeOf = async (bytes: string | Buffer, quotation: object) => {
    const passage = { sha256: sha256Of(bytes), ...quotation };
    return (await addFinding(node, { kind: 'pack', id }, { passage })).passage;
  };
  expect(await placeOf(html, { exact: '20 euros' })).toMatchObject({
    derived: { dom_path: '/html[1]/body[1]/p[1]/b[1]' },
  });
  expect(await placeOf(html, { exact: '5' })).toMatchObject({
    derived: { dom_path: '/html[1]/body[1]/p[2]' },
  });
  const across = await placeOf(html, { exact: 'euros.\n\nChildren' });
  expect(across).toMatchObject({ derived: { dom_path: '/html[1]/body[1]' } });
  // The page is drawn with 12 points from (72, 700) on, and "The fee is " comes before.
  const inPdf = await placeOf(pdf, { exact: '20 euros' });
  expect(inPdf).toMatchObject({ page: 2, derived: { box: { y: 700, height: 12 } } });
  const { x = 0, width = 0 } = inPdf?.derived?.box ?? {};
  expect(x).toBeGreaterThan(120);
  expect(x).toBeLessThan(140);
  expect(width).toBeGreaterThan(35);
  expect(width).toBeLessThan(55);
  expect(inPdf?.derived).not.toHaveProperty('dom_path');
  const annotations = await (await node.fetch(`/api/findings?format=jsonld&pack=${id}`)).text();
  expect(annotations).toContain('"type":"XPathSelector","value":"/html[1]/body[1]/p[2]"');
});

test('a passage keeps its place in the text if the document cannot be read now', async () => {
  const store = await openTestStore(await temporaryFolder());
  const sha256 = sha256Of('The fee is 20 euros.');
  const words = { tool: 'html', version: '1', text: 'The fee is 20 euros.', pages: null };
  const passages = new Passages({
    store,
    textOf: async () => ({
      kind: 'text',
      subject: sha256,
      tool: 'html',
      tool_version: '1',
      outcome: 'made',
      detail: null,
      title: null,
      content: new Uint8Array(),
      objects: [sha256],
      made_at: store.instant(),
    }),
    deriver: {
      derive: async (task: DeriveTask): Promise<never> => {
        if (task.task !== 'place') throw new Problem('copy_unreachable', 'The copy does not answer.');
        return placedPassage(task.passage, words) as never;
      },
    },
  });
  const quotation = { exact: '20 euros', prefix: '', suffix: '', start: null, end: null, page: null };
  const placed = await passages.place({ sha256, ...quotation }, 'normal');
  expect(placed).toMatchObject({ start: 11, end: 19, derived: { tool: 'html' } });
});

test('a passage whose text another tool makes is anchored anew, and what cannot be is said', async () => {
  const store = await openTestStore(await temporaryFolder());
  const text = 'The fee is 20 euros for everyone who enters the museum. The fee is 5 euros for children.';
  const sha256 = sha256Of(text);
  await store.write((database) =>
    createBlobRowIfAbsent(database, { sha256, bytes: text.length, stored_at: store.instant() }),
  );
  const by = (version: string, found: string | null): FindsPassages => {
    const words = { tool: 'extractor', version, text: found, pages: null };
    return {
      place: async (passage) => placedPassage(passage, words),
      anchor: async (passage) => anchoredPassage(passage, words),
    };
  };
  const passage = { sha256, exact: '20 euros for everyone', prefix: '', suffix: '' };
  const { id } = await recordFinding(
    store,
    newFindingSchema.parse({ target: { kind: 'object', id: sha256 }, text: 'Noted', passage }),
    by('1', text),
  );
  const anchorBy = async (version: string, found: string | null) => {
    const services = { store, tools: [`extractor ${version}`], log: createLog('silent') };
    await new PassageAnchors({ ...services, passages: by(version, found) }).anchorAll();
    const finding = readFinding(store, id, OWNER);
    expect(finding.passage).toMatchObject({ start: 11, end: 32, derived: { version: '1' } });
    return finding.anchor;
  };
  // Such as one of an older version of the program.
  const passageOf = { ...passage, prefix: 'museum. The fee is ', exact: '5 euros' };
  const unplaced = await recordFinding(
    store,
    newFindingSchema.parse({ target: { kind: 'object', id: sha256 }, text: 'Noted', passage: passageOf }),
    { place: async () => undefined },
  );
  expect(unplaced.passage).toMatchObject({ start: null });
  expect(await anchorBy('1', text)).toBeNull();
  expect(readFinding(store, unplaced.id, OWNER)).toMatchObject({
    passage: { start: null },
    anchor: { state: 'found', version: '1', start: 67, end: 74 },
  });
  const reflowed = `Opening hours\n\n${text.replaceAll(' ', '\n')}`;
  expect(await anchorBy('2', reflowed)).toMatchObject({ state: 'found', version: '2', start: 26, end: 47 });
  expect(await anchorBy('3', `${text} ${text}`)).toMatchObject({ state: 'not_found', start: null });
  expect(await anchorBy('4', text.replace('20', '25'))).toMatchObject({ state: 'not_found' });
  expect(await anchorBy('5', null)).toMatchObject({ state: 'no_text', version: '5' });
  await closeTestStores();
});

describe('a request is refused', () => {
  const none = 'f'.repeat(64);
  test.each([
    ['an unknown event', { target: { kind: 'event', id: '999' } }, 'unknown_target', '/target/id'],
    ['an unknown object', { target: { kind: 'object', id: none } }, 'unknown_target', '/target/id'],
    [
      'an unknown pack',
      { target: { kind: 'pack', id: 'pk_00000000000000000000' } },
      'unknown_target',
      '/target/id',
    ],
    [
      'an event id with a leading zero',
      { target: { kind: 'event', id: '01' } },
      'invalid_field',
      '/target/id',
    ],
    [
      'an event id that is no whole number',
      { target: { kind: 'event', id: 1.5 } },
      'invalid_field',
      '/target/id',
    ],
    ['no text', { text: '' }, 'invalid_field', '/text'],
    ['too long a text', { text: 'x'.repeat(20_001) }, 'invalid_field', '/text'],
    ['a tag twice', { tags: ['a', 'a'] }, 'invalid_field', '/tags'],
    ['an empty quotation', { passage: { exact: '' } }, 'invalid_field', '/passage/exact'],
    ['a start without an end', { passage: { exact: 'x', start: 3 } }, 'invalid_field', '/passage/end'],
    [
      'an end before the start',
      { passage: { exact: 'x', start: 3, end: 2 } },
      'invalid_field',
      '/passage/end',
    ],
    [
      'an object of something else',
      { passage: { exact: 'x', sha256: none } },
      'unknown_target',
      '/passage/sha256',
    ],
    ['an unknown finding', { supersedes: 'fi_00000000000000000000' }, 'unknown_finding', '/supersedes'],
    ['a time of its own', { at: '2020-01-01T00:00:00.000Z' }, 'unknown_field', '/at'],
    ['a lone surrogate', { text: '\ud800' }, 'not_canonical', '/text'],
  ])('with %s', async (_what, fields, code, path) => {
    const body = { target: aboutEvent(), text: 'Refused', ...fields };
    expect(await problemOf(post(body))).toMatchObject({ status: 422, code, errors: [{ path }] });
  });

  test('of a visitor, and to supersede a finding about something else', async () => {
    const visitor = node.fetch('/manage/findings', {
      method: 'POST',
      body: JSON.stringify({ target: aboutEvent(), text: 'x' }),
      headers: { 'Content-Type': 'application/json' },
    });
    expect(await problemOf(visitor)).toMatchObject({ status: 401, code: 'owner_required' });
    const about = await addFinding(node, { kind: 'pack', id: pack }, { text: 'About the pack' });
    const moved = { target: aboutEvent(), text: 'x', supersedes: about.id };
    expect(await problemOf(post(moved))).toMatchObject({ status: 422, code: 'unknown_finding' });
    expect(await problemOf(node.fetch('/api/findings/fi_00000000000000000000'))).toMatchObject({
      status: 404,
    });
    expect(await problemOf(node.fetch(`/api/findings?event=1&pack=${pack}`))).toMatchObject({
      code: 'invalid_parameter',
    });
    expect(await problemOf(node.fetch('/api/findings?format=xml'))).toMatchObject({ code: 'invalid_format' });
  });
});

test('the ledger says in words what its entries are about, and nothing of a finding', async () => {
  const read = async (path: string) => (await (await node.fetch(path)).json()) as { items: object[] };
  const entries = (await read('/api/ledger?limit=500')).items as LedgerEntry[];
  const { items } = await read('/api/ledger/titles?limit=500');
  const titles = new Map(
    (items as { seq: number; title: string | null }[]).map(({ seq, title }) => [seq, title]),
  );
  const named = entries.map(({ seq, type }) => `${type}: ${titles.get(seq)}`);
  expect(named).toEqual(
    expect.arrayContaining([
      'source.added: Fee notice',
      'retrievals.recorded: 1 retrieval',
      'event.recorded: Changed: Fee notice',
      `pack.added: ${((await (await node.fetch(`/api/packs/${pack}`)).json()) as { title: string }).title}`,
      'finding.added: null',
    ]),
  );
  expect((await read('/api/ledger/titles?from=2&limit=1')).items).toEqual([{ seq: 2, title: titles.get(2) }]);
});
