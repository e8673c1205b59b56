import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { POLL_INTERVAL_MS } from '../../../server/ledger/timestamps/timestamps.ts';
import type { Stamping, Timestamp } from '../../../shared/ledger/ledger.ts';
import { problemOf } from '../../support/archive/packs.ts';
import { runCommand } from '../../support/cli.ts';
import { ManualClock } from '../../support/manualClock.ts';
import {
  closeTimestampAuthorities,
  EC_KEY,
  RSA_KEY,
  TimestampAuthority,
} from '../../support/network/timestampAuthority.ts';
import { closeTestNodes, openTestNode, type TestNode } from '../../support/node.ts';
import { requirePrograms } from '../../support/requirements.ts';

beforeEach(async ({ skip }) => requirePrograms(['openssl'], skip));
afterEach(async () => {
  await closeTestNodes();
  await closeTimestampAuthorities();
});

async function record(node: TestNode, path: string): Promise<void> {
  expect((await node.sendJson('POST', '/api/nodes', { path, title: path })).status).toBe(201);
}

async function useAuthorities(node: TestNode, ...timestamp_authorities: string[]): Promise<void> {
  expect((await node.sendJson('PATCH', '/manage/settings', { timestamp_authorities })).status).toBe(200);
}

async function list(node: TestNode): Promise<Timestamp[]> {
  return ((await (await node.fetch('/api/ledger/timestamps')).json()) as { items: Timestamp[] }).items;
}

function stampNow(node: TestNode): Promise<Response> {
  return node.fetchAsOwner('/manage/timestamps', { method: 'POST' });
}

/** What `openssl ts -verify` says of a timestamp and the bytes that the node gives for it. */
async function judge(node: TestNode, authority: TimestampAuthority, id: string): Promise<string> {
  const reply = await node.fetch(`/api/ledger/timestamps/${id}`);
  expect(reply.headers.get('Content-Type')).toBe('application/timestamp-reply');
  const text = await node.fetch(`/api/ledger/timestamps/${id}/text`);
  await writeFile(join(authority.folder, 'kept.tsr'), Buffer.from(await reply.arrayBuffer()));
  await writeFile(join(authority.folder, 'kept.txt'), Buffer.from(await text.arrayBuffer()));
  return authority.openssl('ts', '-verify', '-data', 'kept.txt', '-in', 'kept.tsr', '-CAfile', 'ca.pem');
}

describe('an honest authority', () => {
  test.for([
    ['EC', EC_KEY],
    ['RSA', RSA_KEY],
  ] as const)('with a key for %s stamps the checkpoint, and openssl confirms it', async ([, key]) => {
    const authority = await TimestampAuthority.open(key);
    const node = await openTestNode();
    await record(node, 'a');
    await useAuthorities(node, authority.url);
    expect(await list(node)).toEqual([]);
    const response = await stampNow(node);
    expect(response.status).toBe(201);
    const { items, failed } = (await response.json()) as Stamping;
    expect(failed).toEqual([]);
    const [head, note] = [
      ((await (await node.fetch('/api/ledger')).json()) as { head: { root: string } }).head,
      await (await node.fetch('/api/ledger/checkpoint')).text(),
    ];
    expect(items).toEqual([
      {
        id: expect.stringMatching(/^ts_[0-9a-f]{20}$/) as string,
        authority: authority.url,
        at: expect.stringMatching(/Z$/) as string,
        size: 1,
        root: head.root,
        serial: '0x02',
      },
    ]);
    expect(await list(node)).toEqual(items);
    const id = items[0]?.id ?? '';
    expect(await judge(node, authority, id)).toBe('Verification: OK\n');
    expect(await (await node.fetch(`/api/ledger/timestamps/${id}/text`)).text()).toBe(
      note.slice(0, note.indexOf('\n\n') + 1),
    );
    expect(await problemOf(node.fetch('/api/ledger/timestamps/ts_0'))).toMatchObject({ code: 'not_found' });
  });

  test('is asked on schedule while the ledger grows, and again soon after it failed', async () => {
    const authority = await TimestampAuthority.open();
    const clock = new ManualClock();
    const node = await openTestNode({ clock, prove: true });
    const pass = async (ms: number) => {
      await clock.sleeperOf(POLL_INTERVAL_MS);
      await clock.jump(Math.max(ms, POLL_INTERVAL_MS));
      await clock.sleeperOf(POLL_INTERVAL_MS);
    };
    await useAuthorities(node, authority.url);
    await pass(0);
    expect(authority.queries).toHaveLength(0);

    await record(node, 'a');
    authority.answering = () => ({ status: 503, body: Buffer.from('Later.') });
    await pass(0);
    await pass(0);
    expect(authority.queries).toHaveLength(1);
    const states = await (await node.fetchAsOwner('/manage/timestamps')).json();
    expect(states).toMatchObject({
      authorities: [{ error: 'It answered with status 503.', stamped_at: null }],
    });
    authority.answering = async (query) => ({ body: await authority.stamp(query) });
    await pass(900_000);
    expect((await list(node)).map(({ size }) => size)).toEqual([1]);

    await pass(25 * 3_600_000);
    expect(authority.queries).toHaveLength(2);
    await record(node, 'b');
    await pass(0);
    expect((await list(node)).map(({ size }) => size)).toEqual([2, 1]);
    await record(node, 'c');
    await pass(23 * 3_600_000);
    expect(authority.queries).toHaveLength(3);
    await pass(3_600_000);
    expect((await list(node)).map(({ size }) => size)).toEqual([3, 2, 1]);
  });

  test('is asked by the command, and its timestamps are verified with the ledger', async () => {
    const authority = await TimestampAuthority.open();
    const node = await openTestNode();
    await record(node, 'a');
    const data = ['--data', node.dataFolder];
    const refused = await runCommand(['ledger', 'timestamp', ...data]);
    expect([refused.code, refused.stderr]).toEqual([
      1,
      'Add the URL of a timestamp authority in the settings first.\n',
    ]);
    await useAuthorities(node, authority.url, 'http://127.0.0.1:9/');
    const stamped = await runCommand(['ledger', 'timestamp', ...data]);
    expect(stamped.stdout).toMatch(/^Entry 1 existed before \S+Z, according to http:\S+ \(0x02\)\.\n$/);
    expect([stamped.code, stamped.stderr]).toEqual([
      1,
      'http://127.0.0.1:9/: The server refused the connection.\n',
    ]);
    await node.close();
    await useNoNode(node, authority);

    const verified = await runCommand(['ledger', 'verify', ...data]);
    expect(verified).toMatchObject({ code: 0, stderr: '' });
    const database = new Database(join(node.dataFolder, 'strongroom.db'));
    database.exec('DROP TRIGGER timestamps_stay');
    database.prepare('UPDATE timestamps SET at = ?').run('2020-01-01T00:00:00.000Z');
    database.close();
    const altered = await runCommand(['ledger', 'verify', ...data]);
    expect(altered.code).toBe(1);
    expect(altered.stderr).toMatch(
      /^Entries up to 1 \(timestamp ts_\S+\): Its time or number was changed\.\n/,
    );
  });
});

/** Without a node, the command opens the archive itself. */
async function useNoNode(node: TestNode, authority: TimestampAuthority): Promise<void> {
  const before = authority.queries.length;
  const alone = await runCommand(['ledger', 'timestamp', '--json', '--data', node.dataFolder]);
  const { items } = JSON.parse(alone.stdout) as Stamping;
  expect(items.map(({ size, authority: by }) => [size, by])).toEqual([[1, authority.url]]);
  expect(authority.queries).toHaveLength(before + 1);
}

test('a failing authority does not keep another from answering, and a refused timestamp keeps nothing', async () => {
  const [honest, failing] = [await TimestampAuthority.open(), await TimestampAuthority.open()];
  failing.answering = () => ({ status: 500, body: Buffer.from('Oops.') });
  const node = await openTestNode();
  await record(node, 'a');
  expect(await problemOf(stampNow(node))).toMatchObject({ status: 409, code: 'no_authority' });
  await useAuthorities(node, failing.url, honest.url);
  expect(await (await stampNow(node)).json()).toMatchObject({
    items: [{ authority: honest.url }],
    failed: [{ authority: failing.url, error: 'It answered with status 500.' }],
  });
  await useAuthorities(node, failing.url);
  expect(await problemOf(stampNow(node))).toMatchObject({
    status: 502,
    code: 'authority_failed',
    detail: `${failing.url}: It answered with status 500.`,
  });
  expect(await list(node)).toHaveLength(1);
  expect(await problemOf(node.fetch('/manage/timestamps', { method: 'POST' }))).toMatchObject({
    status: 401,
  });
});

test('an address that is published has no user name and no password', async () => {
  const node = await openTestNode();
  const patch = (settings: object) => node.sendJson('PATCH', '/manage/settings', settings);
  const key = (await (await node.fetch('/witness/key')).text()).trim();
  for (const credentials of ['ada:MARKERpass@', 'MARKERpass@', ':MARKERpass@'])
    for (const settings of [
      { timestamp_authorities: [`http://${credentials}tsa.example/tsr`] },
      { witnesses: [{ url: `http://${credentials}witness.example`, key }] },
      { doi_resolver: `https://${credentials}doi.example/` },
    ])
      expect(await problemOf(patch(settings))).toMatchObject({ status: 422, code: 'invalid_field' });
  // What a query says is public, and some authorities need one.
  expect((await patch({ timestamp_authorities: ['http://tsa.example/tsr?policy=1'] })).status).toBe(200);
});
