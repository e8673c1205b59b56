import { createHash, createHmac, randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { PAIRING_MINUTES, type PairProof, type PairState } from '../../shared/node/pairing.ts';
import { pathOf } from '../../shared/routes/route.ts';
import { ROUTE_SPECS } from '../../shared/routes.ts';
import { problemOf } from '../support/archive/packs.ts';
import { eventually } from '../support/eventually.ts';
import { ManualClock } from '../support/manualClock.ts';
import { pair, pairingCode, sendCode } from '../support/network/pairing.ts';
import { rawRequest } from '../support/network/rawRequest.ts';
import { share, withToken } from '../support/network/sharing.ts';
import { closeTestNodes, openTestNode } from '../support/node.ts';
import { signIn } from '../support/ownerPage.ts';
import { requireNetwork } from '../support/requirements.ts';

afterEach(closeTestNodes);

const EXTENSION = 'chrome-extension://abcdefghijklmnopabcdefghijklmnop';
const networkAddress = Object.values(networkInterfaces())
  .flat()
  .find((found) => found?.family === 'IPv4' && !found.internal)?.address;

describe('pairing by a code', () => {
  test('a code pairs one browser, once, however it is typed; the token is shown once', async () => {
    const node = await openTestNode();
    const { code } = await pairingCode(node);
    expect(code).toMatch(/^[0-9A-HJKMNP-TV-Z]{4}-[0-9A-HJKMNP-TV-Z]{4}$/);
    const typed = ` ${code.toLowerCase().replace('-', ' ').replaceAll('0', 'o').replaceAll('1', 'l')} `;
    const response = await sendCode(node, typed, 'Ada’s browser');
    expect(response.status).toBe(201);
    const paired = (await response.json()) as { id: string; token: string };
    expect(paired).toMatchObject({
      id: expect.stringMatching(/^br_[0-9a-f]{20}$/),
      node: expect.any(String),
    });
    expect(await problemOf(await sendCode(node, code))).toMatchObject({
      status: 403,
      code: 'pairing_refused',
    });

    const listed = await (await node.fetchAsOwner('/manage/pairings')).text();
    expect(JSON.parse(listed)).toMatchObject({
      total: 1,
      items: [{ id: paired.id, name: 'Ada’s browser', last_used_at: null }],
    });
    expect(listed).not.toContain(paired.token);
    const database = await readFile(join(node.dataFolder, 'strongroom.db'));
    const log = await readFile(join(node.dataFolder, 'strongroom.db-wal'));
    expect(Buffer.concat([database, log]).includes(paired.token)).toBe(false);
  });

  test('a wrong code is refused, and five of them end the tries of an address; so does a new one, and time', async () => {
    const clock = new ManualClock();
    const node = await openTestNode({ clock });
    expect((await sendCode(node, '0000-0000')).status).toBe(403);
    const first = await pairingCode(node);
    const wrong = first.code === '0000-0000' ? '1111-1111' : '0000-0000';
    for (let tried = 0; tried < 5; tried += 1)
      expect(await problemOf(await sendCode(node, wrong))).toMatchObject({ code: 'pairing_refused' });
    expect((await sendCode(node, first.code)).status).toBe(403);

    const replaced = await pairingCode(node);
    const late = await pairingCode(node);
    expect((await sendCode(node, replaced.code)).status).toBe(403);
    await clock.turn(PAIRING_MINUTES * 60_000);
    expect((await sendCode(node, late.code)).status).toBe(403);
    expect((await sendCode(node, (await pairingCode(node)).code)).status).toBe(201);
  });

  test('wrong codes from elsewhere do not spend the tries of the person, but a thousand of them end the code', async () => {
    const node = await openTestNode({ publicUrl: 'https://archive.example' });
    const { code } = await pairingCode(node);
    const guess = async (address: string, typed: string) => {
      const { status } = await rawRequest(`${node.url}/pair`, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json', 'X-Forwarded-For': address },
        body: JSON.stringify({ code: typed }),
      });
      return status;
    };
    for (let tried = 0; tried < 5; tried += 1) expect(await guess('203.0.113.1', 'UUUU-UUUU')).toBe(403);
    expect(await guess('203.0.113.1', code)).toBe(403);
    expect((await sendCode(node, code)).status).toBe(201);

    const { code: second } = await pairingCode(node);
    const guesses = Array.from({ length: 1_000 }, (_, each) => `203.0.${each >> 8}.${each & 255}`);
    await Promise.all(guesses.map((address) => guess(address, 'UUUU-UUUU')));
    expect((await sendCode(node, second)).status).toBe(403);
  });

  test('a revoked browser is nobody, at once; a pairing survives a restart', async () => {
    const node = await openTestNode();
    const { id, token } = await pair(node);
    await node.close();
    const again = await openTestNode({ dataFolder: node.dataFolder });
    const state = await again.fetch('/pair', withToken(token));
    expect(await state.json()).toMatchObject({ browser: { id, name: 'Ada’s browser' }, cases: [] });
    // When it was used is recorded after the answer.
    await eventually(async () => {
      const listed = await (await again.fetchAsOwner('/manage/pairings')).json();
      expect(listed).toMatchObject({ items: [{ last_used_at: expect.any(String) }] });
    });
    expect((await again.fetchAsOwner(`/manage/pairings/${id}`, { method: 'DELETE' })).status).toBe(204);
    expect(await problemOf(await again.fetch('/pair', withToken(token)))).toMatchObject({
      status: 401,
      code: 'owner_required',
    });
    expect((await again.fetchAsOwner(`/manage/pairings/${id}`, { method: 'DELETE' })).status).toBe(404);
    const challenge = randomBytes(32).toString('hex');
    expect((await again.fetch(`/pair/${id}/proof?challenge=${challenge}`)).status).toBe(404);
  });

  test('the node proves that it knows the browser, and accepts a token of this session in place of the lasting one', async () => {
    const node = await openTestNode();
    const { id, token } = await pair(node);
    const other = await pair(node);
    const macOf = (text: string) =>
      createHmac('sha256', createHash('sha256').update(token).digest()).update(text).digest('hex');
    const prove = async (challenge: string, asked = node) =>
      (await (await asked.fetch(`/pair/${id}/proof?challenge=${challenge}`)).json()) as PairProof;
    const challenge = randomBytes(32).toString('hex');
    const { proof, session } = await prove(challenge);
    expect(proof).toBe(macOf(challenge));
    const ofSession = `browser-${id}-${macOf(`session ${session}`)}`;
    const statusOf = async (sent: string, asked = node) =>
      (await asked.fetch('/pair', withToken(sent))).status;
    expect(await statusOf(ofSession)).toBe(200);

    // The node is no oracle: its answer to a challenge opens nothing. Nor does the MAC of another browser.
    expect(await statusOf(`browser-${id}-${(await prove(session)).proof}`)).toBe(401);
    expect(await statusOf(ofSession.replace(id, other.id))).toBe(401);
    expect(await statusOf(ofSession.replace(id, 'br_00000000000000000000'))).toBe(401);

    await node.close();
    const again = await openTestNode({ dataFolder: node.dataFolder });
    expect(await statusOf(ofSession, again)).toBe(401);
    const renewed = `browser-${id}-${macOf(`session ${(await prove(challenge, again)).session}`)}`;
    expect(await statusOf(renewed, again)).toBe(200);
    expect((await again.fetchAsOwner(`/manage/pairings/${id}`, { method: 'DELETE' })).status).toBe(204);
    expect(await statusOf(renewed, again)).toBe(401);
  });
});

describe('what the token of a paired browser opens', () => {
  test('it hands in, watches and reads its state; every other route of the table refuses it', async () => {
    const node = await openTestNode();
    const { token } = await pair(node);
    await share(node, 'contribute');
    const headers = { Authorization: `Bearer ${token}` };
    const guarded = Object.entries(ROUTE_SPECS).filter(([, { access }]) => access !== 'open');
    const answers = await Promise.all(
      guarded.map(async ([name, { method, path }]) => {
        const params = Object.fromEntries(
          [...path.matchAll(/\{\+?(\w+)\}/g)].map(([, key = '']) => [key, 'x']),
        );
        const { status } = await fetch(new URL(pathOf(path, params), node.url), { method, headers });
        return status === 401 || status === 403 ? [] : [name];
      }),
    );
    expect(answers.flat().sort()).toEqual(['addSource', 'handIn', 'readPairState']);
    for (const page of ['/settings', '/packs'])
      expect(await (await node.fetch(page, { headers })).text()).not.toContain('rel="canonical"');
  });

  test('it watches an address, and sets nothing else of a source', async () => {
    const node = await openTestNode();
    const { token } = await pair(node);
    const watch = (body: object) =>
      node.fetch('/manage/sources', {
        method: 'POST',
        headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
        body: JSON.stringify(body),
      });
    const refused = await watch({ url: 'https://watched.example/', headers: { Cookie: 'a=1' } });
    expect(await problemOf(refused)).toMatchObject({ status: 401, code: 'owner_required' });
    expect((await watch({ url: 'https://watched.example/' })).status).toBe(201);
    expect(await problemOf(await watch({ url: 'https://watched.example/' }))).toMatchObject({
      code: 'source_exists',
    });
  });

  test('an address that is paused is not called watched', async () => {
    const node = await openTestNode();
    const { token } = await pair(node);
    const url = 'https://paused.example/';
    const added = await node.sendJson('POST', '/manage/sources', { url });
    const { id } = (await added.json()) as { id: string };
    expect((await node.sendJson('PATCH', `/manage/sources/${id}`, { paused: true })).status).toBe(200);
    const answer = await node.fetch('/manage/sources', {
      method: 'POST',
      headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({ url }),
    });
    expect(await problemOf(answer)).toMatchObject({ code: 'source_exists', source: id, paused: true });
  });

  test('it is told the cases by id and title, and nothing of what is in them', async () => {
    const node = await openTestNode();
    const { token } = await pair(node);
    const added = await node.sendJson('POST', '/manage/cases', { title: 'Leak', description: 'Secret' });
    const { id } = (await added.json()) as { id: string };
    const state = (await (await node.fetch('/pair', withToken(token))).json()) as PairState;
    expect(state.cases).toEqual([{ id, title: 'Leak' }]);
    expect(await (await node.fetchAsOwner('/pair')).json()).toMatchObject({ browser: null });
  });

  test('over the network, it and the code are accepted over HTTPS only', async ({ skip }) => {
    requireNetwork(networkAddress, skip);
    const node = await openTestNode({ host: '0.0.0.0' });
    const { token } = await pair(node);
    await share(node, 'read');
    const { code } = await pairingCode(node);
    const url = `http://${networkAddress}:${new URL(node.url).port}`;
    const sent = await rawRequest(`${url}/pair`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ code }),
    });
    const asked = await rawRequest(`${url}/pair`, { headers: { Authorization: `Bearer ${token}` } });
    for (const { status, body } of [sent, asked])
      expect([status, JSON.parse(body).code]).toEqual([403, 'tls_required']);
    expect((await sendCode(node, code)).status).toBe(201);
  });
});

describe('calls of an extension', () => {
  const fromExtension = { Origin: EXTENSION, 'Sec-Fetch-Site': 'cross-site', 'Sec-Fetch-Mode': 'cors' };

  test('it may read the answers of its own routes only, and never with cookies', async () => {
    const node = await openTestNode();
    const { token } = await pair(node);
    const preflight = await rawRequest(`${node.url}/manage/handed-in`, {
      method: 'OPTIONS',
      headers: { ...fromExtension, 'Access-Control-Request-Method': 'POST' },
    });
    expect(preflight.status).toBe(204);
    expect(preflight.headers).toMatchObject({
      'access-control-allow-origin': EXTENSION,
      'access-control-allow-headers': 'Authorization, Content-Type',
      vary: expect.stringContaining('Origin'),
    });
    const headers = { ...fromExtension, Authorization: `Bearer ${token}` };
    const state = await rawRequest(`${node.url}/pair`, { headers });
    expect([state.status, state.headers['access-control-allow-origin']]).toEqual([200, EXTENSION]);
    expect(state.headers['access-control-allow-credentials']).toBeUndefined();
    for (const path of ['/api/ledger', '/manage/settings', '/manage/pairings']) {
      const answer = await rawRequest(`${node.url}${path}`, { headers });
      expect([answer.status, answer.headers['access-control-allow-origin']], path).toEqual([403, undefined]);
    }
  });

  test('a browser on another machine may ask whether it may send, while the node is not shared', async ({
    skip,
  }) => {
    requireNetwork(networkAddress, skip);
    const node = await openTestNode({ host: '0.0.0.0' });
    const url = `http://${networkAddress}:${new URL(node.url).port}`;
    const ask = (path: string, headers: Record<string, string>) =>
      rawRequest(`${url}${path}`, { method: 'OPTIONS', headers });
    for (const path of ['/pair', '/manage/handed-in', '/manage/sources'])
      expect(
        (await ask(path, { ...fromExtension, 'Access-Control-Request-Method': 'POST' })).status,
        path,
      ).toBe(204);
    expect((await ask('/manage/settings', fromExtension)).status).toBe(403);
    expect((await ask('/manage/sources', {})).status).toBe(403);
  });

  test('no other site opens its routes, and without a token an extension is nobody', async () => {
    const node = await openTestNode();
    const { headers: own } = await signIn(node);
    const open = async (headers: Record<string, string>) =>
      (await rawRequest(`${node.url}/pair`, { headers })).status;
    expect(await open(own)).toBe(200);
    expect(await open(fromExtension)).toBe(401);
    expect(await open({ ...own, 'Sec-Fetch-Site': 'cross-site', 'Sec-Fetch-Mode': 'navigate' })).toBe(403);
  });

  test('a session, the owner’s token and other origins open nothing for it', async () => {
    const node = await openTestNode();
    const { token } = await pair(node);
    const { headers: own } = await signIn(node);
    const body = JSON.stringify({ url: 'https://watched.example/' });
    const send = (headers: Record<string, string>) =>
      rawRequest(`${node.url}/manage/sources`, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json', 'Sec-Fetch-Site': 'cross-site', ...headers },
        body,
      });
    const bearer = { Authorization: `Bearer ${token}` };
    const others: Record<string, string>[] = [
      { Origin: EXTENSION, ...own },
      { Origin: EXTENSION, Authorization: `Bearer ${node.token}` },
      { Origin: 'https://evil.example', ...bearer },
      { Origin: `${EXTENSION}.evil.example`, ...bearer },
      { Origin: 'null', ...bearer },
    ];
    for (const headers of others) expect((await send(headers)).status, JSON.stringify(headers)).toBe(403);
    expect((await send({ Origin: EXTENSION, ...bearer })).status).toBe(201);
    expect(
      (await send({ Origin: 'moz-extension://0a1b2c3d-0000-4000-8000-000000000000', ...bearer })).status,
    ).toBe(409);
  });
});
