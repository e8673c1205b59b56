import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { nodeCrypto } from '../../../server/ledger/checkpoint.ts';
import { TimestampError, verifyTimestamp } from '../../../shared/proof/ledger/timestamp.ts';
import { type DerNode, parseDer, writeDer } from '../../forger/der.ts';
import { problemOf } from '../../support/archive/packs.ts';
import { ManualClock } from '../../support/manualClock.ts';
import {
  type Answering,
  closeTimestampAuthorities,
  EC_KEY,
  TimestampAuthority,
} from '../../support/network/timestampAuthority.ts';
import { closeTestNodes, openTestNode } from '../../support/node.ts';
import { requirePrograms } from '../../support/requirements.ts';

beforeEach(async ({ skip }) => requirePrograms(['openssl'], skip));
afterEach(async () => {
  await closeTestNodes();
  await closeTimestampAuthorities();
});

/** Where the imprint and the nonce begin in a request of the node, which is always as long. */
const IMPRINT_AT = 26;
const NONCE_AT = 58 + 2;

function changed(bytes: Buffer, at: number): Buffer {
  const copy = Buffer.from(bytes);
  copy.writeUInt8(copy.readUInt8(at) ^ 1, at);
  return copy;
}

/** Answers as an honest authority, and then changes the byte `fromEnd` bytes before the end. */
function altering(fromEnd: number): Answering {
  return async (query, authority) => {
    const reply = await authority.stamp(query);
    return { body: changed(reply, reply.length - fromEnd) };
  };
}

/** Changes the first byte of a piece of the honest reply. */
function alteringTime(): Answering {
  return async (query, authority) => {
    const reply = await authority.stamp(query);
    // The GeneralizedTime: tag 24, 15 characters, a year of this century.
    const at = reply.indexOf(Buffer.from([0x18, 15, 0x32, 0x30]));
    return { body: changed(reply, at + 5) };
  };
}

const LIES: [name: string, reason: string, answering: Answering][] = [
  [
    'for other bytes',
    'its imprint does not match',
    async (query, by) => ({ body: await by.stamp(changed(query, IMPRINT_AT)) }),
  ],
  [
    'of another request',
    'its nonce does not match',
    async (query, by) => ({ body: await by.stamp(changed(query, NONCE_AT)) }),
  ],
  [
    'by a certificate for nothing',
    'has no extended key usage',
    async (query, by) => ({ body: await by.stampWith(query, 'none') }),
  ],
  [
    'by a certificate for programs',
    'is not for timestamps alone',
    async (query, by) => ({ body: await by.stampWith(query, 'other') }),
  ],
  [
    'by a certificate for two uses',
    'is not for timestamps alone',
    async (query, by) => ({ body: await by.stampWith(query, 'twofold') }),
  ],
  [
    'by a certificate that need not be obeyed',
    'not critical',
    async (query, by) => ({ body: await by.stampWith(query, 'uncritical') }),
  ],
  [
    'by a certificate that certifies',
    'other uses than signing',
    async (query, by) => ({ body: await by.stampWith(query, 'certifying') }),
  ],
  [
    'by an expired certificate',
    'was not valid at that time',
    async (query, by) => ({ body: await by.stamp(query, await by.certify('sound', -1)) }),
  ],
  ['with a changed signature', 'its signature does not match', altering(1)],
  ['with a changed time', 'its signed digest does not match', alteringTime()],
  [
    'cut short',
    'not a timestamp reply',
    async (query, by) => ({ body: (await by.stamp(query)).subarray(0, -1) }),
  ],
  [
    'with bytes after it',
    'not a timestamp reply',
    async (query, by) => ({ body: Buffer.concat([await by.stamp(query), Buffer.of(0)]) }),
  ],
  ['that is empty', 'not a timestamp reply', () => ({ body: Buffer.alloc(0) })],
  [
    'that refuses',
    'refused the request with status 2',
    () => ({ body: Buffer.from('30053003020102', 'hex') }),
  ],
  ['nested without end', 'not a timestamp reply', () => ({ body: Buffer.alloc(100_000, 0x30) })],
  ['as long as it likes', 'Its answer is too large.', () => ({ body: Buffer.alloc(300_000) })],
  [
    'as a page',
    'answered with text/html',
    () => ({ type: 'text/html; charset=utf-8', body: Buffer.from('<p>Hello') }),
  ],
  ['elsewhere', 'answered with status 302', () => ({ status: 302, body: Buffer.alloc(0) })],
];

test('every answer that is not what it should be is refused with its reason, and nothing is kept', async () => {
  const authority = await TimestampAuthority.open();
  const node = await openTestNode();
  await node.sendJson('PATCH', '/manage/settings', { timestamp_authorities: [authority.url] });
  for (const [name, reason, answering] of LIES) {
    authority.answering = answering;
    const problem = await problemOf(node.fetchAsOwner('/manage/timestamps', { method: 'POST' }));
    expect(problem, name).toMatchObject({ status: 502, code: 'authority_failed' });
    expect(problem.detail, name).toContain(reason);
  }
  expect(authority.queries).toHaveLength(LIES.length);
  expect(await (await node.fetch('/api/ledger/timestamps')).json()).toMatchObject({ total: 0 });
});

test('an authority that never answers is given up, and holds up neither requests nor the end of the node', async () => {
  const authority = await TimestampAuthority.open();
  authority.answering = () => new Promise(() => {});
  const clock = new ManualClock();
  const node = await openTestNode({ clock });
  const settings = { timestamp_authorities: [authority.url], request_timeout_seconds: 3 };
  await node.sendJson('PATCH', '/manage/settings', settings);
  const givenUp = problemOf(node.fetchAsOwner('/manage/timestamps', { method: 'POST' }));
  await expect.poll(() => authority.queries.length).toBe(1);
  await clock.jump(3_000);
  expect(await givenUp).toMatchObject({
    code: 'authority_failed',
    detail: `${authority.url}: No response in time.`,
  });

  await node.sendJson('PATCH', '/manage/settings', { request_timeout_seconds: 3600 });
  const waiting = problemOf(node.fetchAsOwner('/manage/timestamps', { method: 'POST' }));
  await expect.poll(() => authority.queries.length).toBe(2);
  expect((await node.sendJson('POST', '/api/nodes', { path: 'a', title: 'a' })).status).toBe(201);
  await node.close();
  expect(await waiting).toMatchObject({ code: 'shutting_down' });
});

test('no tag around what is signed can be another one', async () => {
  const authority = await TimestampAuthority.open(EC_KEY);
  await writeFile(join(authority.folder, 'text'), 'text');
  await authority.openssl('ts', '-query', '-data', 'text', '-sha256', '-cert', '-out', 'text.tsq');
  const reply = await authority.stamp(await readFile(join(authority.folder, 'text.tsq')));
  const verified = (root: DerNode) => verifyTimestamp(writeDer(root), Buffer.from('text'), nodeCrypto);
  const parsedReply = () => {
    const root = parseDer(reply);
    const token = root?.children?.[1];
    const content = token?.children?.[1];
    const signer = content?.children?.[0]?.children?.at(-1)?.children?.[0];
    const id = signer?.children?.[1];
    if (!root || !token || !content || !signer || !id) throw new Error('The reply has another form.');
    return { root, nodes: { token, content, signer, id } };
  };
  expect(verified(parsedReply().root).signer).toContain('Authority');
  for (const name of ['token', 'content', 'signer', 'id'] as const)
    for (const tag of [0x30, 0x31, 0xa0, 0xa1]) {
      const { root, nodes } = parsedReply();
      if (nodes[name].tag === tag) continue;
      nodes[name].tag = tag;
      expect(() => verified(root), `${name} ${tag}`).toThrow(TimestampError);
    }
});

test('no length of a value can be another one', async () => {
  const authority = await TimestampAuthority.open(EC_KEY);
  await writeFile(join(authority.folder, 'text'), 'text');
  await authority.openssl('ts', '-query', '-data', 'text', '-sha256', '-cert', '-out', 'text.tsq');
  const reply = await authority.stamp(await readFile(join(authority.folder, 'text.tsq')));
  const verified = (bytes: Uint8Array) => verifyTimestamp(bytes, Buffer.from('text'), nodeCrypto);
  expect(verified(reply).signer).toContain('Authority');
  // 0x30 0x82: a sequence whose length has two bytes.
  for (let at = 0; at < reply.length - 4; at += 1) {
    if (reply[at] !== 0x30 || reply[at + 1] !== 0x82) continue;
    for (const by of [1, 255]) {
      const altered = Buffer.from(reply);
      altered[at + 3] = ((altered[at + 3] ?? 0) + by) % 256;
      expect(() => verified(altered), `${at} by ${by}`).toThrow();
    }
  }
});
