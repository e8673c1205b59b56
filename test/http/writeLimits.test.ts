import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, describe, expect, test } from 'vitest';
import { addressGroup } from '../../server/archive/limits/addressGroup.ts';
import type { NodeConfig } from '../../server/config.ts';
import type { SettingsChange } from '../../shared/node/settings.ts';
import { ManualClock } from '../support/manualClock.ts';
import { closeTestNodes, openTestNode, type TestNode } from '../support/node.ts';
import { type Files, filesOf, packForm, sampleRecord, uploadPack } from '../support/packs.ts';
import { readToEnd, sendRaw } from '../support/rawConnection.ts';
import { rawRequest } from '../support/rawRequest.ts';

afterEach(closeTestNodes);

interface Refusal {
  code: string;
  limit?: string;
  resets_at?: string;
}

/** Opens a node shared for contributions, with these limits. */
async function openSharedNode(limits: SettingsChange, config: Partial<NodeConfig> = {}): Promise<TestNode> {
  // The clock stands still, so that no hour ends during a test.
  const node = await openTestNode({ clock: new ManualClock(), ...config });
  // The free space of the test machine's disk does not matter.
  await node.sendJson('PATCH', '/manage/settings', { min_free_disk_gb: 0, ...limits });
  await node.sendJson('PUT', '/manage/sharing', { mode: 'contribute', require_invitation: false });
  return node;
}

let nodesMade = 0;

/** Creates a tree node with a unique path as a visitor. */
function write(node: TestNode, body?: unknown): Promise<Response> {
  nodesMade += 1;
  return node.fetch('/api/nodes', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(body ?? { path: `n${nodesMade}`, title: 'A node' }),
  });
}

function upload(node: TestNode, record: unknown, files: Files): Promise<Response> {
  return node.fetch('/api/packs', { method: 'POST', body: packForm(record, files) });
}

/** The same upload without an announced length. */
async function uploadStreamed(node: TestNode, record: unknown, files: Files): Promise<Response> {
  const whole = new Response(packForm(record, files));
  return node.fetch('/api/packs', {
    method: 'POST',
    headers: { 'Content-Type': whole.headers.get('Content-Type') ?? '' },
    body: whole.body,
    duplex: 'half',
  } as RequestInit);
}

async function statuses(answers: Promise<Response>[]): Promise<number[]> {
  return (await Promise.all(answers)).map(({ status }) => status).sort((left, right) => left - right);
}

async function refusalOf(response: Response): Promise<Refusal> {
  return (await response.json()) as Refusal;
}

async function ledgerSize(node: TestNode): Promise<number> {
  const { head } = (await (await node.fetch('/api/ledger')).json()) as { head: { seq: number } };
  return head.seq;
}

/** Returns all files in `tmp/` and `blobs/`. */
async function storedFiles(node: TestNode): Promise<string[]> {
  const found = await Promise.all(
    ['tmp', 'blobs'].map((name) =>
      readdir(join(node.dataFolder, name), { recursive: true, withFileTypes: true }),
    ),
  );
  return found.flat().flatMap((entry) => (entry.isFile() ? [entry.name] : []));
}

/** Reads the data about visitors directly from the database. */
function visitorsOf(node: TestNode) {
  const database = new Database(join(node.dataFolder, 'strongroom.db'), { readonly: true });
  try {
    const today = database.prepare('SELECT day, key FROM write_day').get() as { day: string; key: string };
    const counts = database.prepare('SELECT who, writes FROM write_counts ORDER BY who').all();
    return { ...today, counts: counts as { who: string; writes: number }[] };
  } finally {
    database.close();
  }
}

function ofBytes(bytes: number, digit = 'x'): Files {
  return { 'data.bin': digit.repeat(bytes) };
}

describe('limits of writes by address (contract, section 5)', () => {
  test('a write beyond ip_writes_per_hour is 429 with the limit and its reset, and leaves nothing behind', async () => {
    const clock = new ManualClock('2026-11-20T10:59:30.000Z');
    const node = await openSharedNode({ ip_writes_per_hour: 3 }, { clock });
    const answers = [await write(node), await write(node), await write(node)];
    expect(answers.map(({ status }) => status)).toEqual([201, 201, 201]);
    expect(answers[0]?.headers.get('RateLimit-Policy')).toMatch(
      /^"ip_writes_per_hour";q=3;w=3600, "ip_writes_per_day";q=200;w=86400, "ip_mb_per_day";q=100000000;qu="content-bytes";w=86400, "site_/,
    );
    expect(answers.map(({ headers }) => headers.get('RateLimit')?.split(', ')[0])).toEqual([
      '"ip_writes_per_hour";r=2;t=30',
      '"ip_writes_per_hour";r=1;t=30',
      '"ip_writes_per_hour";r=0;t=30',
    ]);

    const refused = await write(node);
    expect(refused.status).toBe(429);
    expect(refused.headers.get('Retry-After')).toBe('30');
    expect(await refusalOf(refused)).toMatchObject({
      code: 'rate_limited',
      limit: 'ip_writes_per_hour',
      resets_at: '2026-11-20T11:00:00.000Z',
    });
    expect(await ledgerSize(node)).toBe(3);

    await clock.turn(30_000);
    expect((await write(node)).status).toBe(201);
  });

  test('of many concurrent writes exactly as many succeed as the limit allows', async () => {
    const node = await openSharedNode({ ip_writes_per_hour: 5 });
    const answers = await statuses(Array.from({ length: 20 }, () => write(node)));
    expect(answers).toEqual([...Array(5).fill(201), ...Array(15).fill(429)]);
    expect(await ledgerSize(node)).toBe(5);
  });

  test('refused writes and packs that already exist are not counted', async () => {
    const node = await openSharedNode({ ip_writes_per_hour: 3 });
    const pack = [sampleRecord({ files: filesOf(ofBytes(10)) }), ofBytes(10)] as const;
    expect((await upload(node, ...pack)).status).toBe(201);
    expect((await upload(node, ...pack)).status).toBe(200);
    expect((await write(node, { path: 'x', nope: 1 })).status).toBe(422);
    expect((await write(node, { path: 'no/parent', title: 'x' })).status).toBe(409);
    expect((await upload(node, sampleRecord({ files: filesOf(ofBytes(9)) }), ofBytes(10))).status).toBe(422);
    expect(await statuses([write(node), write(node), write(node)])).toEqual([201, 201, 429]);
  });

  test('a new limit applies at once', async () => {
    const node = await openSharedNode({ ip_writes_per_hour: 1 });
    await write(node);
    expect((await write(node)).status).toBe(429);
    await node.sendJson('PATCH', '/manage/settings', { ip_writes_per_hour: 2 });
    expect((await write(node)).status).toBe(201);
    await node.sendJson('PATCH', '/manage/settings', { ip_writes_per_hour: 0 });
    expect((await write(node)).status).toBe(429);
  });

  test('ip_writes_per_day counts from midnight to midnight UTC', async () => {
    const clock = new ManualClock('2026-11-20T21:00:00.000Z');
    const node = await openSharedNode({ ip_writes_per_hour: 2, ip_writes_per_day: 3 }, { clock });
    await write(node);
    await write(node);
    await clock.turn(3_600_000);
    expect((await write(node)).status).toBe(201);
    const refused = await write(node);
    expect(await refusalOf(refused)).toMatchObject({
      limit: 'ip_writes_per_day',
      resets_at: '2026-11-21T00:00:00.000Z',
    });
    expect(refused.headers.get('Retry-After')).toBe('7200');
    await clock.turn(7_200_000);
    expect((await write(node)).status).toBe(201);
  });

  test.each([
    ['announced', upload],
    ['not announced', uploadStreamed],
  ] as const)('ip_mb_per_day bounds the bytes that an address sends, their length %s', async (_how, send) => {
    const node = await openSharedNode({ ip_mb_per_day: 0.5 });
    expect((await send(node, sampleRecord(), ofBytes(300_000))).status).toBe(201);
    const second = await send(node, sampleRecord({ title: 'Second' }), ofBytes(300_000, 'y'));
    expect([second.status, (await refusalOf(second)).limit]).toEqual([429, 'ip_mb_per_day']);
    expect(await storedFiles(node)).toHaveLength(1);
  });

  test('a body with a too large announced length is refused before it is read, and is not counted', async () => {
    const node = await openSharedNode({ ip_mb_per_day: 0.5 });
    const large = await upload(node, sampleRecord(), ofBytes(600_000));
    expect([large.status, (await refusalOf(large)).limit]).toEqual([429, 'ip_mb_per_day']);
    expect(await storedFiles(node)).toEqual([]);
    expect((await upload(node, sampleRecord(), ofBytes(300_000))).status).toBe(201);
  });

  test('a body too large for any endpoint is 413, not 429', async () => {
    const node = await openSharedNode({ ip_mb_per_day: 1 });
    const answer = await rawRequest(`${node.url}/api/packs`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', 'Content-Length': '200000000', Connection: 'close' },
    });
    expect([answer.status, JSON.parse(answer.body).code]).toEqual([413, 'body_too_large']);
  });

  test('IPv4 is counted by address, also if mapped to IPv6, and IPv6 by its /64', () => {
    expect(addressGroup('192.0.2.1')).toBe('192.0.2.1');
    expect(addressGroup('::ffff:192.0.2.1')).toBe('192.0.2.1');
    expect(addressGroup('::ffff:c000:201')).toBe('192.0.2.1');
    expect(addressGroup('2001:DB8:1:2::1')).toBe(addressGroup('2001:db8:1:2:ffff:ffff:ffff:ffff'));
    expect(addressGroup('2001:db8:1:2::1')).not.toBe(addressGroup('2001:db8:1:3::1'));
    expect(addressGroup('2001:db8::')).toBe(addressGroup('2001:db8:0:0:1::'));
    expect(addressGroup('fe80::1%eth0')).toBe('fe80:0:0:0::/64');
  });
});

describe('bytes that were read count for accepted and refused writes (contract-2, section 7)', () => {
  const BYTES = 200_000;
  const content = 'x'.repeat(BYTES);
  const form = () =>
    packForm(sampleRecord({ files: filesOf({ 'data.bin': 'other' }) }), { 'data.bin': content });
  const post = (body: BodyInit, headers: Record<string, string> = {}) => ({ method: 'POST', body, headers });

  /** Returns the amount that the database has counted for the only address that wrote. */
  function countedOf(node: TestNode): { writes: number; bytes: number } {
    const database = new Database(join(node.dataFolder, 'strongroom.db'), { readonly: true });
    try {
      const sums =
        'SELECT coalesce(sum(writes), 0) AS writes, coalesce(sum(bytes), 0) AS bytes FROM write_counts';
      return database.prepare(`${sums} WHERE who != ''`).get() as { writes: number; bytes: number };
    } finally {
      database.close();
    }
  }

  test.each([
    ['files that do not match the record', () => post(form()), 422],
    [
      'a digest that does not match',
      () => post(form(), { 'Repr-Digest': `sha-256=:${'A'.repeat(43)}=:` }),
      422,
    ],
    [
      'a malformed multipart body',
      () => post(content, { 'Content-Type': 'multipart/form-data; boundary=b' }),
      400,
    ],
    ['another media type', () => post(content, { 'Content-Type': 'text/plain' }), 415],
    [
      'a short body of another media type',
      () => post('x'.repeat(9_000), { 'Content-Type': 'text/plain' }),
      415,
    ],
    ['an invalid pack file', () => post(content, { 'Content-Type': 'application/zip' }), 422],
  ] as const)('%s', async (_what, init, status) => {
    const node = await openSharedNode({});
    expect((await node.fetch('/api/packs', init())).status).toBe(status);
    const { body } = init();
    const atLeast = typeof body === 'string' ? body.length : BYTES;
    await expect.poll(() => countedOf(node).bytes).toBeGreaterThanOrEqual(atLeast);
    expect(countedOf(node)).toMatchObject({ writes: 0 });
    expect(countedOf(node).bytes).toBeLessThan(atLeast + 5_000);
  });

  test('a body that turns out too large', async () => {
    const node = await openSharedNode({ ip_mb_per_day: 1000 });
    const large = `{"path":"x","title":"${'x'.repeat(1_200_000)}"}`;
    const init = { ...post(new Blob([large]).stream() as unknown as BodyInit), duplex: 'half' };
    const answer = await node.fetch('/api/nodes', {
      ...init,
      headers: { 'Content-Type': 'application/json' },
    });
    expect(answer.status).toBe(413);
    await expect.poll(() => countedOf(node).bytes).toBeGreaterThan(1_048_576);
  });

  test('an upload that the client aborts', async () => {
    const node = await openSharedNode({});
    const head = `POST /api/packs HTTP/1.1\r\nHost: ${new URL(node.url).host}\r\nContent-Type: application/zip\r\nContent-Length: 1000000\r\n\r\n`;
    const socket = sendRaw(node.url, head + content);
    socket.end();
    await readToEnd(socket);
    await expect.poll(() => countedOf(node).bytes).toBeGreaterThan(100_000);
    expect(countedOf(node).bytes).toBeLessThanOrEqual(BYTES);
  });

  test('an existing pack and an accepted one count once each', async () => {
    const node = await openSharedNode({});
    const sent = () => upload(node, sampleRecord(), ofBytes(BYTES));
    expect((await sent()).status).toBe(201);
    const once = countedOf(node);
    expect(once).toMatchObject({ writes: 1 });
    expect((await sent()).status).toBe(200);
    await expect.poll(() => countedOf(node).bytes).toBeGreaterThan(2 * BYTES);
    expect(countedOf(node)).toMatchObject({ writes: 1 });
    expect(countedOf(node).bytes).toBeLessThan(2 * BYTES + 5_000);
  });

  test('concurrent refused uploads use up the day’s bytes, and only as many as allowed are read', async () => {
    const node = await openSharedNode({ ip_mb_per_day: 1, ip_writes_per_hour: 1000 });
    const answers = await statuses(Array.from({ length: 12 }, () => node.fetch('/api/packs', post(form()))));
    expect(answers).toEqual([...Array(4).fill(422), ...Array(8).fill(429)]);
    const refused = await upload(node, sampleRecord(), ofBytes(BYTES));
    expect([refused.status, (await refusalOf(refused)).limit]).toEqual([429, 'ip_mb_per_day']);
    await expect.poll(() => countedOf(node).bytes).toBeGreaterThan(4 * BYTES);
    expect((await write(node)).status).toBe(201);
    await node.close();
    const again = await openTestNode({ clock: new ManualClock(), dataFolder: node.dataFolder });
    expect((await upload(again, sampleRecord(), ofBytes(BYTES))).status).toBe(429);
  });
});

describe('limits of the whole site (contract, section 5)', () => {
  test('they do not apply to the owner, whose writes are counted', async () => {
    const node = await openSharedNode({
      ip_writes_per_hour: 2,
      ip_writes_per_day: 2,
      ip_mb_per_day: 0.001,
      site_writes_per_hour: 4,
    });
    const asOwner = (path: string) => node.sendJson('POST', '/api/nodes', { path, title: path });
    expect((await asOwner('a')).status).toBe(201);
    expect((await asOwner('b')).headers.get('RateLimit')).toBeNull();
    expect((await uploadPack(node, sampleRecord(), ofBytes(5_000))).status).toBe(201);
    expect((await write(node)).status).toBe(201);
    expect((await asOwner('c')).status).toBe(201);
    const refused = await write(node);
    expect([refused.status, (await refusalOf(refused)).limit]).toEqual([429, 'site_writes_per_hour']);
    expect((await asOwner('d')).status).toBe(201);
  });

  test('site_gb_per_day limits visitors, and includes the bytes of the owner', async () => {
    const node = await openSharedNode({ site_gb_per_day: 0.0005 });
    const second = [sampleRecord({ title: 'Second' }), ofBytes(300_000, 'y')] as const;
    expect((await uploadPack(node, sampleRecord(), ofBytes(300_000))).status).toBe(201);
    const refused = await upload(node, ...second);
    expect([refused.status, (await refusalOf(refused)).limit]).toEqual([429, 'site_gb_per_day']);
    expect((await uploadPack(node, ...second)).status).toBe(201);
  });
});

describe('storage limits (contract, section 5)', () => {
  test('a pack that would exceed data_cap_gb is 507, and nothing of it is stored', async () => {
    const node = await openSharedNode({ data_cap_gb: 0.000_1 });
    const refused = await uploadPack(node, sampleRecord(), ofBytes(100_001));
    expect([refused.status, (await refusalOf(refused)).code]).toEqual([507, 'data_cap_reached']);
    expect(await storedFiles(node)).toEqual([]);
    expect((await uploadPack(node, sampleRecord(), ofBytes(60_000))).status).toBe(201);
    const second = await uploadPack(node, sampleRecord({ title: 'Second' }), ofBytes(60_000, 'y'));
    expect(second.status).toBe(507);
    expect(await storedFiles(node)).toHaveLength(1);
    // Blobs that are already stored need no space.
    expect((await uploadPack(node, sampleRecord({ title: 'Third' }), ofBytes(60_000))).status).toBe(201);
  });

  test('of two concurrent packs that do not both fit, one is stored', async () => {
    const node = await openSharedNode({ data_cap_gb: 0.000_1 });
    const sent = ['a', 'b', 'c'].map((digit) =>
      uploadPack(node, sampleRecord({ title: digit }), ofBytes(60_000, digit)),
    );
    expect(await statuses(sent)).toEqual([201, 507, 507]);
    expect(await storedFiles(node)).toHaveLength(1);
  });

  test('a full archive accepts no writes', async () => {
    const node = await openSharedNode({ data_cap_gb: 0 });
    const refused = await write(node);
    expect([refused.status, (await refusalOf(refused)).code]).toEqual([507, 'data_cap_reached']);
    expect(await ledgerSize(node)).toBe(0);
  });

  test('with less than min_free_disk_gb free, every write is 507 disk_nearly_full', async () => {
    const node = await openSharedNode({ min_free_disk_gb: 1_000_000 });
    for (const refused of [await write(node), await uploadPack(node, sampleRecord(), ofBytes(10))]) {
      expect([refused.status, (await refusalOf(refused)).code]).toEqual([507, 'disk_nearly_full']);
    }
    expect(await storedFiles(node)).toEqual([]);
  });
});

describe('stored data about visitors (contract, section 5)', () => {
  test('counters survive a restart', async () => {
    const clock = new ManualClock();
    const node = await openSharedNode({ ip_writes_per_hour: 2 }, { clock });
    await write(node);
    await write(node);
    await node.close();
    const again = await openTestNode({ clock, dataFolder: node.dataFolder });
    expect((await write(again)).status).toBe(429);
    await clock.turn(3_600_000);
    expect((await write(again)).status).toBe(201);
  });

  test('the counts of a day that ended while the node was closed are deleted at startup', async () => {
    const clock = new ManualClock();
    const node = await openSharedNode({}, { clock });
    await write(node);
    await node.close();
    await clock.turn(86_400_000);
    const again = await openTestNode({ clock, dataFolder: node.dataFolder });
    await expect.poll(() => visitorsOf(again)).toMatchObject({ day: '2026-11-21', counts: [] });
  });

  test('addresses are stored as keyed hashes, which are deleted at the end of the day even if nobody writes', async () => {
    const clock = new ManualClock('2026-11-20T23:00:00.000Z');
    const node = await openSharedNode({}, { clock });
    await write(node);
    const today = visitorsOf(node);
    expect(today.counts).toEqual([
      { who: '', writes: 1 },
      { who: expect.stringMatching(/^[\w-]{43}$/) as string, writes: 1 },
    ]);
    expect(today.day).toBe('2026-11-20');

    await clock.turn(3_600_000);
    await expect.poll(() => visitorsOf(node)).toMatchObject({ day: '2026-11-21', counts: [] });
    expect(visitorsOf(node).key).not.toBe(today.key);
    await write(node);
    expect(visitorsOf(node).counts[1]?.who).not.toBe(today.counts[1]?.who);
    await node.close();
    const file = await readFile(join(node.dataFolder, 'strongroom.db'));
    expect(file.includes(Buffer.from(today.key))).toBe(false);
    expect(file.includes(Buffer.from('127.0.0.1'))).toBe(false);
  });
});
