import { createPrivateKey, generateKeyPairSync, randomBytes } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { browserCrypto } from '../../renderer/evidence/browserCrypto.ts';
import { EVIDENCE_SCRIPT, EVIDENCE_STYLE } from '../../renderer/inlineScripts.ts';
import {
  type NodeKey,
  nodeCrypto,
  nodeKeyOf,
  privateKeyOfSeed,
  signNote,
} from '../../server/ledger/checkpoint.ts';
import { keyFile, keyNameOf } from '../../server/ledger/nodeKey.ts';
import { forkChild, type StartChild } from '../../server/runtime/child.ts';
import type { EventDetails } from '../../shared/collection/event.ts';
import type {
  ObservationStatement,
  RecordedObservation,
  SourceObservers,
} from '../../shared/node/observation.ts';
import type { Peer } from '../../shared/node/peer.ts';
import { checkEvidence } from '../../shared/proof/evidence/checkEvidence.ts';
import type { Evidence } from '../../shared/proof/evidence/evidence.ts';
import {
  checkSeenBy,
  commitmentOf,
  observationText,
  REQUEST_HEADER,
  readObservation,
  STATEMENT_HEADER,
} from '../../shared/proof/evidence/observation.ts';
import { type CollectingNode, openCollectingNode } from '../collection/support.ts';
import { expectNoForgeryIntact } from '../evidence/support.ts';
import { problemOf, sha256Of } from '../support/archive/packs.ts';
import { eventually } from '../support/eventually.ts';
import { ManualClock } from '../support/manualClock.ts';
import { LyingPeer } from '../support/network/lyingPeer.ts';
import { closePeerFronts } from '../support/network/peerFront.ts';
import { closeScriptedWebs, page, redirect, ScriptedWeb } from '../support/network/scriptedWeb.ts';
import { closeTestNodes, openTestNode, type TestNode, temporaryFolder } from '../support/node.ts';
import { runHere } from '../support/runHere.ts';
import { addPeer, expectVerified, keyOf } from './support.ts';

afterEach(async () => {
  closePeerFronts();
  await closeTestNodes();
  await closeScriptedWebs();
});

/** The scripted web is on loopback, and counts as public, except at one address. */
const PRIVATE = '127.0.0.2';
const PUBLIC = { network: { isPrivateAddress: (address: string) => address === PRIVATE } };

interface Pair {
  asker: CollectingNode;
  other: CollectingNode;
  /** The asked node, as a peer of the asking one. */
  peer: Peer;
  source: string;
  web: ScriptedWeb;
}

/** Two nodes that are peers of each other, the second one of which fetches some addresses a day for the first. */
async function twoNodes(
  perDay: number,
  { config = {}, otherConfig = {}, throughLiar = false } = {},
): Promise<Pair & { liar: LyingPeer | undefined }> {
  const web = await ScriptedWeb.open();
  web.script('/a', page('<p>one'));
  const other = await openCollectingNode({}, { ...PUBLIC, ...otherConfig });
  const asker = await openCollectingNode({}, { ...PUBLIC, ...config });
  const liar = throughLiar ? await LyingPeer.open(other.node.url) : undefined;
  const peer = await addPeer(asker.node, liar?.url ?? other.node.url);
  const back = await addPeer(other.node, asker.node.url);
  const agreed = await other.node.sendJson('PATCH', `/manage/peers/${back.id}`, { observe_per_day: perDay });
  expect(await agreed.json()).toMatchObject({ observe_per_day: perDay });
  const { id: source } = await asker.watch(web.url('/a'));
  await asker.check();
  await choose(asker, source, [peer.id]);
  return { asker, other, peer, source, web, liar };
}

const choose = (node: CollectingNode, source: string, peers: string[]) =>
  node.node.sendJson('PUT', `/manage/sources/${source}/observers`, { peers });

/** The pages that the asking node and then its peer get at the next check. */
async function change({ asker, web }: Pair, ours: string, theirs: string, status = 200): Promise<number> {
  web.script('/a', page(ours), page(theirs, { status }));
  const { events } = await asker.check();
  expect(events).toHaveLength(1);
  return events[0] ?? 0;
}

const eventOf = (node: CollectingNode, id: number) => node.read<EventDetails>(`/api/events/${id}`);

async function seenBy(node: CollectingNode, id: number): Promise<EventDetails['seen_by'][number]> {
  return eventually(async () => {
    const [seen] = (await eventOf(node, id)).seen_by;
    if (!seen) throw new Error('Nothing is recorded yet.');
    return seen;
  });
}

/** A change that only this node fetches. */
let versions = 0;
const change2 = (pair: Pair) => change(pair, `only here ${(versions += 1)}`, 'not fetched');

interface DumpLine {
  kind: string;
  record?: RecordedObservation;
}

/** The signed observations in the dump of a node. */
async function dumpOf({ node }: CollectingNode): Promise<DumpLine[]> {
  const lines = (await (await node.fetch('/api/dump.jsonl')).text()).trim().split('\n');
  return lines
    .map((line) => JSON.parse(line) as DumpLine)
    .filter(({ kind }) => kind === 'signed_observation');
}

function recordOf(lines: readonly DumpLine[], event: number): RecordedObservation {
  const found = lines.find(({ record }) => record?.event === event)?.record;
  if (!found) throw new Error(`No peer signed event ${event}.`);
  return found;
}

async function signingKey(node: TestNode): Promise<NodeKey> {
  const privateKey = createPrivateKey(await readFile(keyFile(dirname(node.tokenFile)), 'utf8'));
  return nodeKeyOf(keyNameOf(await keyOf(node)), privateKey);
}

/** How the last request for a source ended. */
async function outcome({ asker, source }: Pair): Promise<string | null | undefined> {
  const { peers } = await asker.read<SourceObservers>(`/manage/sources/${source}/observers`);
  return peers[0]?.error;
}

async function signedIn(node: TestNode): Promise<number> {
  const { items } = (await (await node.fetch('/api/ledger?limit=500')).json()) as {
    items: { type: string }[];
  };
  return items.filter(({ type }) => type === 'observation.signed').length;
}

/** A build with empty evidence files. */
async function emptyRenderer(): Promise<string> {
  const rendererFolder = await temporaryFolder();
  await mkdir(join(rendererFolder, 'evidence'));
  for (const file of [EVIDENCE_SCRIPT, EVIDENCE_STYLE]) await writeFile(join(rendererFolder, file), '');
  return rendererFolder;
}

const evidenceIn = (html: string) => JSON.parse(/id="evidence">([^<]*)</.exec(html)?.[1] ?? '') as Evidence;

test('a peer fetches a change at the same moment; the event says whether bytes, text or blocks are the same', async () => {
  const pair = await twoNodes(10);
  const { asker, other, peer } = pair;
  const bytes = await change(pair, '<p>two', '<p>two');
  expect(await seenBy(asker, bytes)).toMatchObject({
    peer: peer.id,
    name: peer.name,
    key: peer.key,
    agreement: 'same_bytes',
    status: 200,
    sha256: sha256Of('<p>two'),
    blocks: null,
  });
  const text = await change(pair, '<p>three', '<p class=x>three');
  expect(await seenBy(asker, text)).toMatchObject({ agreement: 'same_text', blocks: null });
  const differs = await change(pair, '<p>a<p>Fee: 10<p>c', '<p>a<p>Fee: 12<p>c<p>Advert');
  expect(await seenBy(asker, differs)).toMatchObject({
    agreement: 'differs',
    blocks: { ours: 3, theirs: 4, only_ours: [2], only_ours_count: 1, only_theirs_count: 2 },
  });
  const missing = await change(pair, '<p>five', 'blocked', 403);
  expect(await seenBy(asker, missing)).toMatchObject({
    agreement: 'unreachable',
    status: 403,
    error: 'http_error',
    sha256: null,
  });
  expect([await signedIn(asker.node), await signedIn(other.node)]).toEqual([4, 4]);
  await expectVerified(asker.node);
  await expectVerified(other.node);
});

test('the ledger of the peer keeps the request, which fixed the result of this node and did not tell it', async () => {
  const pair = await twoNodes(10);
  const { asker, other } = pair;
  const event = await change(pair, '<p>two', 'blocked', 403);
  await seenBy(asker, event);
  const { nonce, salt } = recordOf(await dumpOf(asker), event);
  const theirs = (await dumpOf(other)).find(({ record }) => record?.nonce === nonce)?.record;
  expect(theirs).toMatchObject({ role: 'answered', event: null, salt: null, agreement: null });
  expect(JSON.stringify(theirs)).not.toContain(sha256Of('<p>two'));
  expect(readObservation(theirs?.request ?? '', REQUEST_HEADER).commitment).toBe(
    commitmentOf(salt ?? '', sha256Of('<p>two'), nodeCrypto),
  );
});

test('an evidence file proves what a peer signed, without a node', async () => {
  const rendererFolder = await emptyRenderer();
  const pair = await twoNodes(10, { config: { rendererFolder } });
  const { asker, peer } = pair;
  const event = await change(pair, '<p>two', '<p>two');
  await seenBy(asker, event);
  const path = join(await temporaryFolder(), 'event.evidence.html');
  const html = await (await asker.node.fetch(`/api/events/${event}/evidence`)).text();
  await writeFile(path, html);
  expect(await runHere(['verify', path], undefined, { rendererFolder })).toMatchObject({
    code: 0,
    stderr: '',
  });
  const file = evidenceIn(html);
  for (const crypto of [nodeCrypto, browserCrypto])
    expect(checkEvidence(file, crypto)).toContainEqual({
      id: 'seen_by',
      state: 'holds',
      name: `${peer.name} signed that it got the same bytes from the same address.`,
      detail: expect.stringContaining(peer.key),
    });
  expectNoForgeryIntact(file);
  const [proven] = file.seen_by ?? [];
  if (!proven) throw new Error('The evidence has no statement of a peer.');
  // A statement that was made for another node, or at another time.
  const { verifierKey: another } = nodeKeyOf('another.example', privateKeyOfSeed(new Uint8Array(32).fill(7)));
  expect(checkSeenBy(proven, { ...file, key: another }, nodeCrypto)).toContainEqual(
    expect.objectContaining({ state: 'claimed', name: 'The peer was asked by this node.' }),
  );
  const { recorded } = file;
  const observed = JSON.parse(recorded.record) as { observed_at: string };
  const record = recorded.record.replace(observed.observed_at, '2001-01-01T00:00:00.000Z');
  expect(checkSeenBy(proven, { ...file, recorded: { ...recorded, record } }, nodeCrypto)).toEqual([
    expect.objectContaining({ state: 'fails' }),
  ]);
  const changed = html.replace('\\"agreement\\":\\"same_bytes\\"', '\\"agreement\\":\\"differs\\"');
  expect(changed).not.toBe(html);
  await writeFile(path, changed);
  expect(await runHere(['verify', path], undefined, { rendererFolder })).toMatchObject({ code: 1 });
});

test('what peers signed is in a dump, and in an archive that is restored from a copy', async () => {
  const pair = await twoNodes(10);
  const { asker } = pair;
  const event = await change(pair, '<p>a<p>Fee: 10<p>c', '<p>a<p>Fee: 12<p>c<p>Advert');
  await seenBy(asker, event);
  const folder = await temporaryFolder();
  const dump = join(folder, 'dump.jsonl');
  await writeFile(dump, await (await asker.node.fetch('/api/dump.jsonl')).text());
  expect(await runHere(['verify', dump])).toMatchObject({ code: 0, stderr: '' });
  const copy = ['copy', join(folder, 'copy'), '--data', dirname(asker.node.tokenFile)];
  expect(await runHere(copy)).toMatchObject({ code: 0, stderr: '' });
  const restore = ['restore', join(folder, 'copy'), '--data', join(folder, 'new')];
  expect(await runHere(restore)).toMatchObject({ code: 0, stderr: '' });
  const restored = await openTestNode({ dataFolder: join(folder, 'new') });
  const { seen_by } = (await (await restored.fetch(`/api/events/${event}`)).json()) as EventDetails;
  expect(seen_by).toEqual((await eventOf(asker, event)).seen_by);
  await expectVerified(restored);
});

test('a peer fetches only what its owner agreed to, once for each request, and never a private or secret address', async () => {
  const pair = await twoNodes(5);
  const { asker, other, web, source, peer } = pair;
  await seenBy(asker, await change(pair, 'v1', 'v1'));
  const record = (await dumpOf(other))[0]?.record;
  const asked = readObservation(record?.request ?? '', REQUEST_HEADER);
  const key = await signingKey(asker.node);
  const send = (request: object, signer = key) =>
    other.node.fetch('/api/observations', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ request: signNote(signer, observationText(REQUEST_HEADER, request)) }),
    });
  const ask = (request: object, signer = key) => problemOf(send(request, signer));
  const fresh = (change: object = {}) => ({
    ...asked,
    nonce: randomBytes(16).toString('hex'),
    requested_at: new Date().toISOString(),
    ...change,
  });
  const invalid = { code: 'invalid_field' };
  const requests = web.requestCount;
  expect(await ask(asked)).toMatchObject({ ...invalid, detail: 'This request was answered.' });
  expect(await ask(fresh({ requested_at: '2026-01-01T00:00:00.000Z' }))).toMatchObject(invalid);
  expect(await ask(fresh({ to: asked.from }))).toMatchObject(invalid);
  const stranger = nodeKeyOf(key.name, generateKeyPairSync('ed25519').privateKey);
  expect(await ask(fresh(), stranger)).toMatchObject(invalid);
  expect(await ask(fresh({ from: stranger.verifierKey }), stranger)).toMatchObject({
    code: 'observation_refused',
  });
  expect(await ask(fresh({ url: web.url('/a?token=abc') }))).toMatchObject({ code: 'observation_refused' });
  expect(await ask(fresh({ url: 'http://localhost:1/' }))).toMatchObject({ code: 'private_address' });
  expect(await ask(fresh({ url: web.url('/a', PRIVATE) }))).toMatchObject({ code: 'private_address' });
  expect(web.requestCount).toBe(requests);
  web.script('/moved', redirect(web.url('/a', PRIVATE)));
  const { statement } = (await (await send(fresh({ url: web.url('/moved') }))).json()) as {
    statement: string;
  };
  expect(readObservation(statement, STATEMENT_HEADER)).toMatchObject({
    error: 'redirect_refused',
    sha256: null,
  });
  await seenBy(asker, await change(pair, 'v2', 'v2'));
  expect(await ask(fresh())).toMatchObject({
    code: 'observation_refused',
    detail: expect.stringContaining('at most 5'),
  });
  const event = await change(pair, 'v3', 'v3');
  await eventually(async () => expect(await outcome(pair)).toMatch(/^The peer refused/));
  expect((await eventOf(asker, event)).seen_by).toEqual([]);
  expect(await signedIn(other.node)).toBe(3);

  // Of these sources, nothing is given to a peer.
  const { id: secret } = await asker.watch(web.url('/b?session=1'));
  expect(await problemOf(choose(asker, secret, [peer.id]))).toMatchObject(invalid);
  expect(await problemOf(choose(asker, source, ['pe_00000000000000000000']))).toMatchObject(invalid);
  const set = (change: object) => asker.node.sendJson('PATCH', `/manage/sources/${source}`, change);
  for (const [change, why] of [
    [{ headers: { 'X-Key': 'value' } }, /request headers/],
    [{ headers: {}, allow_private: true }, /private address/],
  ] as const) {
    await set(change);
    expect(await asker.read(`/manage/sources/${source}/observers`)).toMatchObject({
      refusal: expect.stringMatching(why),
      peers: [{ peer: peer.id, asked: true }],
    });
    await change2(pair);
    await eventually(async () => expect(await outcome(pair)).toMatch(why));
  }
  expect((await choose(asker, source, [peer.id])).status).toBe(200);
  await set({ allow_private: false });
  await other.node.close();
  await change2(pair);
  await eventually(async () => expect(await outcome(pair)).toMatch(/cannot be reached/));
});

test('a peer that lies, repeats an answer or answers late gains nothing: nothing of it is recorded', async () => {
  const clock = new ManualClock(new Date().toISOString());
  const pair = await twoNodes(100, { config: { clock }, throughLiar: true });
  const { asker, other, liar } = pair;
  if (!liar) throw new Error('There is no liar.');
  const key = await signingKey(other.node);
  type Answer = { statement: string; blocks: string[] };
  const resigned = (change: Partial<ObservationStatement>) => (answer: Answer) => {
    const statement = { ...readObservation(answer.statement, STATEMENT_HEADER), ...change };
    return { ...answer, statement: signNote(key, observationText(STATEMENT_HEADER, statement)) };
  };
  let first: Answer | undefined;
  type Lie = (answer: Answer) => Answer | Promise<Answer>;
  const lie = (change: Lie) =>
    liar.lie(/^\/api\/observations/, (body, response) => {
      const answer = JSON.parse(body.toString()) as Answer;
      first ??= answer;
      void Promise.resolve(change(answer)).then((said) =>
        response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(said)),
      );
      return undefined;
    });
  const refused = async (change: Lie, why: RegExp, ours: string) => {
    liar.tellTheTruth();
    lie(change);
    const event = await changeTo(ours);
    await eventually(async () => expect(await outcome(pair)).toMatch(why));
    expect((await eventOf(asker, event)).seen_by).toEqual([]);
  };
  const changeTo = (ours: string) => change(pair, ours, 'something else');
  await refused(
    (answer) => ({
      ...answer,
      statement: answer.statement.replace(/"sha256":"[0-9a-f]{64}"/, `"sha256":"${sha256Of('v1')}"`),
    }),
    /has not signed this/,
    'v1',
  );
  await refused(() => first as Answer, /answers another request/, 'v2');
  await refused(resigned({ url: 'http://example.org/' }), /about another address/, 'v3');
  await refused(resigned({ by: await keyOf(asker.node) }), /by another node/, 'v4');
  await refused(resigned({ sha256: null }), /neither what was got/, 'v5');
  await refused((answer) => ({ ...answer, blocks: [] }), /blocks of the answer/, 'v6');
  await refused(resigned({ fetched_at: new Date(clock.now() + 61_000).toISOString() }), /By its clock/, 'v7');
  await refused(
    async (answer) => {
      await clock.turn(61_000);
      return answer;
    },
    /more than a minute after/,
    'v8',
  );
  expect(await signedIn(asker.node)).toBe(0);
});

test('a pause that a host wants because of a peer holds up the checks of the asked node for a minute at most', async () => {
  const clock = new ManualClock(new Date().toISOString());
  const pair = await twoNodes(100, { otherConfig: { clock } });
  const { asker, other, web } = pair;
  web.script('/own', page('own'));
  await other.watch(web.url('/own'));
  const busy = page('busy', { status: 429, headers: { 'Retry-After': '3600' } });
  web.script('/a', page('v1'), busy);
  const [event = 0] = (await asker.check()).events;
  expect(await seenBy(asker, event)).toMatchObject({ agreement: 'unreachable', status: 429 });
  // Nothing is fetched for a peer before the host wants it.
  await change2(pair);
  await eventually(async () => expect(await outcome(pair)).toMatch(/^The peer refused/));
  const round = other.check();
  await clock.sleeperOf(60_000);
  await clock.turn(60_000);
  expect(await round).toMatchObject({ checked: 1, failed: 0 });
});

test('a host is not fetched from for peers again and again', async () => {
  const pair = await twoNodes(100);
  const { asker, other, web } = pair;
  await seenBy(asker, await change(pair, 'v1', 'v1'));
  await other.set({ per_host_pause_ms: 10_000 });
  const requests = web.requestCount;
  await change2(pair);
  await eventually(async () => expect(await outcome(pair)).toMatch(/^The peer refused/));
  expect(web.requestCount).toBe(requests + 1);
});

test('a node that is too busy to answer in time signs nothing', async () => {
  const clock = new ManualClock(new Date().toISOString());
  const startChild: StartChild = (options) => {
    const child = forkChild(options);
    return {
      ...child,
      send: (message) => void clock.turn(25_000).then(() => child.send(message)),
    };
  };
  const pair = await twoNodes(100, { otherConfig: { clock, startChild } });
  await change(pair, 'v1', 'v1');
  await eventually(async () => expect(await outcome(pair)).toMatch(/^The peer refused/));
  expect(await signedIn(pair.other.node)).toBe(0);
});
