import { afterEach, describe, expect, test } from 'vitest';
import type { OwnerSession } from '../../shared/node/owner.ts';
import { instantOf } from '../../shared/values/clock.ts';
import { problemOf } from '../support/archive/packs.ts';
import { ManualClock } from '../support/manualClock.ts';
import { rawRequest } from '../support/network/rawRequest.ts';
import { closeTestNodes, openTestNode, type TestNode } from '../support/node.ts';
import { createPageKey, openLink, proofFor, prove, sendProof, signIn } from '../support/ownerPage.ts';

afterEach(closeTestNodes);

const DAY = 86_400_000;
const FIREFOX = 'Mozilla/5.0 (X11; Linux x86_64; rv:143.0) Gecko/20100101 Firefox/143.0';

interface Page {
  headers: { Authorization: string };
}

async function isOwner(node: TestNode, { headers }: Page): Promise<boolean> {
  const answer = await node.fetch('/api/session', { headers });
  return answer.status === 200 && ((await answer.json()) as { owner: boolean }).owner;
}

async function sessionsOf(node: TestNode, { headers }: Page): Promise<OwnerSession[]> {
  const listed = await node.fetch('/manage/sessions', { headers });
  return ((await listed.json()) as { items: OwnerSession[] }).items;
}

describe('a session', () => {
  test('ends after 30 days without use', async () => {
    const clock = new ManualClock();
    const node = await openTestNode({ clock });
    const page = await signIn(node);
    await clock.turn(29 * DAY);
    expect(await isOwner(node, page)).toBe(true);
    await expect
      .poll(async () => (await sessionsOf(node, page))[0]?.last_used_at)
      .toBe(instantOf(clock.now()));
    await clock.turn(29 * DAY);
    expect(await isOwner(node, page)).toBe(true);
    await clock.turn(30 * DAY + 1);
    expect(await isOwner(node, page)).toBe(false);
    expect((await node.fetch('/manage/settings', page)).status).toBe(401);
    await expect(prove(node, { key: page.key, origin: node.url })).rejects.toThrow('401');
  });

  test('is recorded as used once an hour, so reading does not cause writes', async () => {
    const clock = new ManualClock();
    const node = await openTestNode({ clock });
    const page = await signIn(node);
    const [begun] = await sessionsOf(node, page);
    await clock.turn(3_599_000);
    await isOwner(node, page);
    expect((await sessionsOf(node, page))[0]?.last_used_at).toBe(begun?.created_at);
    await clock.turn(1_000);
    await isOwner(node, page);
    await expect
      .poll(async () => (await sessionsOf(node, page))[0]?.last_used_at)
      .toBe(instantOf(clock.now()));
  });

  test('is listed, and ended with its tokens and tickets', async () => {
    const node = await openTestNode({ clock: new ManualClock() });
    const mine = await signIn(node, { headers: { 'User-Agent': FIREFOX } });
    const other = await signIn(node, { headers: { 'User-Agent': `curl/8 ${'x'.repeat(200)}` } });
    const listed = await sessionsOf(node, mine);
    const current = listed.filter((session) => session.current).map(({ label }) => label);
    const others = listed.filter((session) => !session.current).map(({ label }) => label);
    expect(current).toEqual(['Firefox on Linux']);
    expect(others).toEqual([`curl/8 ${'x'.repeat(53)}`]);
    const text = JSON.stringify(listed);
    expect(text).not.toContain(other.token);
    expect(text).not.toContain(other.key.publicKey);

    const ticket = other.ticketed('/manage/settings');
    expect((await node.fetch(ticket)).status).toBe(200);
    const ended = listed.find((session) => !session.current)?.id ?? '';
    const end = () => node.fetch(`/manage/sessions/${ended}`, { method: 'DELETE', headers: mine.headers });
    expect((await end()).status).toBe(204);
    expect(await isOwner(node, other)).toBe(false);
    expect((await node.fetch(ticket)).status).toBe(401);
    await expect(prove(node, { key: other.key, origin: node.url })).rejects.toThrow('401');
    expect(await isOwner(node, mine)).toBe(true);
    expect(await problemOf(end())).toMatchObject({ status: 404 });
    expect(await (await node.fetchAsOwner('/manage/sessions')).json()).toMatchObject({
      total: 1,
      items: [{ current: false }],
    });
  });

  test('has no stream of events after its end', async () => {
    const node = await openTestNode({ clock: new ManualClock() });
    const page = await signIn(node);
    const [session] = await sessionsOf(node, page);
    const streams = await Promise.all([
      node.fetch('/manage/stream', { headers: page.headers }),
      node.fetch(page.ticketed('/api/events/stream')),
    ]);
    expect(streams.map(({ status }) => status)).toEqual([200, 200]);
    const ended = streams.map((stream) => stream.text());
    expect((await node.fetchAsOwner(`/manage/sessions/${session?.id}`, { method: 'DELETE' })).status).toBe(
      204,
    );
    expect(await Promise.all(ended)).toEqual([
      expect.stringContaining('retry'),
      expect.stringContaining('retry'),
    ]);

    const other = await signIn(node);
    const stream = await node.fetch('/manage/stream', { headers: other.headers });
    const rest = stream.text();
    expect((await node.fetch('/manage/session', { method: 'DELETE', headers: other.headers })).status).toBe(
      204,
    );
    expect(await rest).toContain('retry');
  });

  test('is replaced when its page signs in again', async () => {
    const node = await openTestNode({ clock: new ManualClock() });
    const first = await signIn(node);
    const second = await signIn(node, { key: first.key });
    expect(await isOwner(node, first)).toBe(false);
    expect(await sessionsOf(node, second)).toHaveLength(1);
    // Another tab has the key too.
    expect(await isOwner(node, await prove(node, { key: first.key, origin: node.url }))).toBe(true);
  });
});

describe('a proof', () => {
  test('counts once, with an open challenge, for the origin and the key that signed it', async () => {
    const node = await openTestNode();
    const page = await signIn(node);
    const refused = async (proof: Parameters<typeof sendProof>[1]) => problemOf(await sendProof(node, proof));
    const sent = await proofFor(node, { key: page.key, origin: node.url });
    expect((await sendProof(node, sent)).status).toBe(201);
    const problem = { status: 401, code: 'owner_required' };
    expect(await refused(sent), 'a second time').toMatchObject(problem);
    const stranger = createPageKey();
    const fresh = (origin = node.url, key = page.key) => proofFor(node, { key, origin });
    expect(await refused(await fresh(node.url, stranger)), 'another key').toMatchObject(problem);
    expect(await refused(await fresh('http://127.0.0.1:1')), 'signed for another origin').toMatchObject(
      problem,
    );
    expect(await refused({ ...(await fresh()), challenge: 'f'.repeat(64) })).toMatchObject(problem);
    expect(
      await refused({ ...(await fresh(node.url, stranger)), public_key: page.key.publicKey }),
    ).toMatchObject(problem);
    for (const public_key of ['AAAA', createPageKey('P-384').publicKey.slice(0, 200)])
      expect(await refused({ ...(await fresh()), public_key })).toMatchObject(problem);
  });

  test('does not use the code of a link up if it is wrong, and a code counts once', async () => {
    const node = await openTestNode();
    const { code } = await openLink(node, node.createSignInLink());
    const key = createPageKey();
    const elsewhere = await proofFor(node, { key, origin: 'http://127.0.0.1:1', code });
    const refused = { status: 403, code: 'sign_in_refused' };
    expect(await problemOf(await sendProof(node, elsewhere))).toMatchObject(refused);
    const right = await proofFor(node, { key, origin: node.url, code });
    expect((await sendProof(node, right)).status).toBe(201);
    const again = await proofFor(node, { key: createPageKey(), origin: node.url, code });
    expect(await problemOf(await sendProof(node, again))).toMatchObject(refused);
    // The code in the link is another one than that of the page.
    const link = new URL(node.createSignInLink()).pathname.split('/').at(-1);
    const direct = await proofFor(node, { key, origin: node.url, code: link });
    expect(await problemOf(await sendProof(node, direct))).toMatchObject(refused);
  });

  test('by a page at the port that the node had before is refused, whatever Host and Origin say', async () => {
    const node = await openTestNode();
    const page = await signIn(node);
    await node.close();
    const moved = await openTestNode({ dataFolder: node.dataFolder });
    expect(moved.url).not.toBe(node.url);
    const { host } = new URL(node.url);
    for (const more of [{ Origin: node.url }, {}] as Record<string, string>[]) {
      const answer = await rawRequest(`${moved.url}/api/session`, {
        method: 'POST',
        headers: { Host: host, 'Content-Type': 'application/json', ...more },
        body: JSON.stringify(await proofFor(moved, { key: page.key, origin: node.url })),
      });
      expect(answer.status).toBe(401);
    }
  });

  test('by a page of another origin is refused before it is read', async () => {
    const node = await openTestNode();
    const page = await signIn(node);
    const proof = await proofFor(node, { key: page.key, origin: node.url });
    const answer = await sendProof(node, proof, { Origin: 'http://127.0.0.1:1' });
    expect(await problemOf(answer)).toMatchObject({ status: 403, code: 'foreign_origin' });
  });

  test('is silent after a restart: the key stays signed in, and what was sent before is worth nothing', async () => {
    const node = await openTestNode();
    const page = await signIn(node);
    const ticket = page.ticketed('/manage/settings');
    const recorded = await proofFor(node, { key: page.key, origin: node.url });
    expect((await node.fetch(ticket)).status).toBe(200);
    const { port } = new URL(node.url);
    await node.close();
    const again = await openTestNode({ dataFolder: node.dataFolder, port: Number(port) });
    expect(await isOwner(again, page)).toBe(false);
    expect((await again.fetch('/manage/settings', page)).status).toBe(401);
    expect((await again.fetch(ticket)).status).toBe(401);
    expect((await sendProof(again, recorded)).status).toBe(401);
    const renewed = await prove(again, { key: page.key, origin: again.url });
    expect(await isOwner(again, renewed)).toBe(true);
    expect((await sessionsOf(again, renewed)).map((session) => session.current)).toEqual([true]);
  });
});

describe('a ticket', () => {
  test('makes one GET or HEAD request the owner’s, and nothing else', async () => {
    const clock = new ManualClock();
    const node = await openTestNode({ clock });
    const page = await signIn(node);
    const ticket = page.ticketed('/manage/sessions?limit=5');
    const listed = await node.fetch(ticket);
    expect(await listed.json()).toMatchObject({ limit: 5, next: null, items: [{ current: true }] });
    expect((await node.fetch(ticket, { method: 'HEAD' })).status).toBe(200);
    const [, parameter = ''] = ticket.split('&');
    for (const path of [`/manage/sessions?limit=6&${parameter}`, `/manage/settings?${parameter}`])
      expect((await node.fetch(path)).status, path).toBe(401);
    const write = await node.fetch(page.ticketed('/manage/sign-in-links'), { method: 'POST' });
    expect(write.status).toBe(401);
    // It is refused, as a wrong token is, where none is needed.
    expect((await node.fetch(`/api/stats?${parameter}`)).status).toBe(401);
    expect((await node.fetch(page.ticketed('/api/stats'))).status).toBe(200);
    const memento = page.ticketed('/timemap/link/http://x.example/?a=b&ticket=1');
    expect((await node.fetch(memento)).status).toBe(404);
  });

  test('expires, by the node’s clock, and cannot be made for long', async () => {
    const clock = new ManualClock();
    const node = await openTestNode({ clock });
    const page = await signIn(node);
    const status = async (address: string) => (await node.fetch(address)).status;
    const ticket = page.ticketed('/manage/settings');
    expect(await status(page.ticketed('/manage/settings', clock.now() + 2 * 3_600_000))).toBe(200);
    expect(await status(page.ticketed('/manage/settings', clock.now() + 2 * 3_600_000 + 1))).toBe(401);
    await clock.turn(3_599_999);
    expect(await status(ticket)).toBe(200);
    await clock.turn(1);
    expect(await status(ticket)).toBe(401);
    expect(await isOwner(node, page)).toBe(true);
  });
});
