import { afterEach, expect, test } from 'vitest';
import type { HandIn } from '../../../shared/collection/handedIn.ts';
import type { Case } from '../../../shared/findings/case.ts';
import type { Finding } from '../../../shared/findings/finding.ts';
import { problemOf, sha256Of } from '../../support/archive/packs.ts';
import { pair } from '../../support/network/pairing.ts';
import { share } from '../../support/network/sharing.ts';
import { closeTestNodes } from '../../support/node.ts';
import { PIXEL, savedPage } from '../../support/savedPages.ts';
import { type CollectingNode, openCollectingNode } from '../support.ts';
import { readHandIn } from './support.ts';

afterEach(closeTestNodes);

const URL_SEEN = 'https://forum.example/private';
const DOCUMENT = '<!doctype html><title>Forum</title><p>They met in Berlin on Monday.</p>';
const PAGE = savedPage(URL_SEEN, [{ type: 'text/html', location: URL_SEEN, content: DOCUMENT }]);
const SEEN = '2026-11-24T10:00:00.000Z';
const QUOTE = { quote: 'met in Berlin', quote_prefix: 'They ', quote_suffix: ' on Monday.' };

interface Sent {
  said?: Record<string, string>;
  picture?: Buffer;
}

/** Sends a page as the extension does. */
function archive(
  { node }: CollectingNode,
  token: string,
  { said = {}, picture }: Sent = {},
): Promise<Response> {
  const form = new FormData();
  for (const [name, value] of Object.entries({ url: URL_SEEN, seen_at: SEEN, ...said }))
    form.set(name, value);
  form.set('file', new Blob([new Uint8Array(PAGE)], { type: 'multipart/related' }), 'page.mhtml');
  if (picture) form.set('picture', new Blob([new Uint8Array(picture)], { type: 'image/png' }), 'page.png');
  const headers = { Authorization: `Bearer ${token}` };
  return node.fetch('/manage/handed-in', { method: 'POST', headers, body: form });
}

async function newCase({ node }: CollectingNode): Promise<string> {
  const added = await node.sendJson('POST', '/manage/cases', { title: 'The meeting' });
  return ((await added.json()) as Case).id;
}

test('page, picture, selection and case are one transaction, withheld from visitors', async () => {
  const node = await openCollectingNode();
  await share(node.node, 'read');
  const { token } = await pair(node.node);
  const chosen = await newCase(node);
  const response = await archive(node, token, {
    said: { ...QUOTE, note: 'So they did meet.', case: chosen },
    picture: PIXEL,
  });
  expect(response.status, await response.clone().text()).toBe(201);
  const handed = (await response.json()) as HandIn;
  expect(handed).toMatchObject({
    kind: 'mhtml',
    document: sha256Of(DOCUMENT),
    picture: { sha256: sha256Of(PIXEL), bytes: PIXEL.length, media_type: 'image/png' },
    withheld: { reason: 'login' },
  });
  const { picture } = await readHandIn(node.node, handed.id);
  expect(picture).toEqual(handed.picture);
  for (const sha256 of [handed.file.sha256, handed.document, sha256Of(PIXEL)]) {
    expect((await node.node.fetch(`/archive/${sha256}`)).status).toBe(451);
    expect((await node.node.fetchAsOwner(`/archive/${sha256}`)).status).toBe(200);
  }
  // One version of the page: the picture is no other.
  const events = await node.events();
  expect(events).toMatchObject([{ event_type: 'first_seen', sha256: handed.document }]);

  const { items } = await node.read<{ items: Finding[] }>('/api/findings');
  expect(items).toMatchObject([
    {
      text: 'So they did meet.',
      target: { kind: 'event', id: String(events[0]?.id) },
      passage: { sha256: handed.document, exact: 'met in Berlin', prefix: 'They ', suffix: ' on Monday.' },
    },
  ]);
  const asVisitor = (await (await node.node.fetch('/api/findings')).json()) as { items: Finding[] };
  expect(asVisitor.items).toMatchObject([{ passage: null }]);
  const { items: inCase } = await node.read<Case>(`/api/cases/${chosen}`);
  expect(inCase).toMatchObject([{ kind: 'finding', id: items[0]?.id }]);

  expect(await node.read('/api/ledger/verify')).toMatchObject({ ok: true });
});

test('what is sent again, also at the same time, is recorded once', async () => {
  const node = await openCollectingNode();
  const { token } = await pair(node.node);
  const chosen = await newCase(node);
  const send = async () => (await archive(node, token, { said: { ...QUOTE, case: chosen } })).status;
  const answers = [...(await Promise.all([send(), send(), send()])), await send()];
  expect(answers.toSorted((left, right) => left - right)).toEqual([200, 200, 200, 201]);
  expect(await node.read('/manage/handed-in')).toMatchObject({ total: 1 });
  expect(await node.read('/api/findings')).toMatchObject({
    total: 1,
    items: [{ text: 'Selected in the browser.' }],
  });
  expect((await node.read<Case>(`/api/cases/${chosen}`)).items).toHaveLength(1);
});

test('without a selection the event is put into the case, also that of an unchanged page', async () => {
  const node = await openCollectingNode();
  const { token } = await pair(node.node);
  const [first, second] = [await newCase(node), await newCase(node)];
  expect((await archive(node, token, { said: { case: first } })).status).toBe(201);
  const later = { seen_at: '2026-11-24T11:00:00.000Z', case: second };
  expect((await archive(node, token, { said: later })).status).toBe(201);
  const [event] = await node.events();
  for (const id of [first, second])
    expect((await node.read<Case>(`/api/cases/${id}`)).items).toMatchObject([
      { kind: 'event', id: String(event?.id) },
    ]);
});

test('a case that is gone, a quotation that is too long and a picture that is none keep nothing', async () => {
  const node = await openCollectingNode();
  const { token } = await pair(node.node);
  const gone = await archive(node, token, { said: { case: `ca_${'0'.repeat(20)}` } });
  expect(await problemOf(gone)).toMatchObject({
    status: 422,
    code: 'unknown_target',
    errors: [{ path: '/case' }],
  });
  const long = await archive(node, token, { said: { quote: 'x'.repeat(10_001) } });
  expect(await problemOf(long)).toMatchObject({ status: 422, code: 'invalid_field' });
  const text = await archive(node, token, { picture: Buffer.from('<!doctype html>') });
  expect(await problemOf(text)).toMatchObject({ status: 415, code: 'unsupported_media_type' });
  expect(await node.read('/manage/handed-in')).toMatchObject({ total: 0 });
  expect(await node.events()).toEqual([]);
});

test('a paired browser shows nothing to visitors, has nothing fetched, and gives no name', async () => {
  const node = await openCollectingNode();
  const { token } = await pair(node.node);
  for (const [field, value] of Object.entries({ withheld: 'false', fetch: 'true', name: 'Grace' }))
    expect(await problemOf(await archive(node, token, { said: { [field]: value } })), field).toMatchObject({
      status: 401,
      code: 'owner_required',
    });
  expect(await node.read('/manage/handed-in')).toMatchObject({ total: 0 });
  expect((await archive(node, token, { said: { withheld: 'true' } })).status).toBe(201);
});

test('a note of spaces is no text of a finding', async () => {
  const node = await openCollectingNode();
  const { token } = await pair(node.node);
  expect((await archive(node, token, { said: { ...QUOTE, note: '  ' } })).status).toBe(201);
  expect(await node.read('/api/findings')).toMatchObject({ items: [{ text: 'Selected in the browser.' }] });
});
