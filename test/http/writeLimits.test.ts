import { writeFile } from 'node:fs/promises';
import { afterEach, describe, expect, test } from 'vitest';
import { addressGroup } from '../../server/archive/limits/budgets.ts';
import { blobPath } from '../../server/store/files.ts';
import { filesOf, sampleRecord, uploadPack } from '../support/archive/packs.ts';
import { ManualClock } from '../support/manualClock.ts';
import { rawRequest } from '../support/network/rawRequest.ts';
import {
  ledgerSize,
  ofBytes,
  openSharedNode,
  refusalOf,
  statuses,
  storedFiles,
  upload,
  uploadStreamed,
  write,
} from '../support/network/visitors.ts';
import { closeTestNodes } from '../support/node.ts';

afterEach(closeTestNodes);

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

  test('a repair is not counted as a write of the visitor whose upload brings it', async () => {
    const node = await openSharedNode({ ip_writes_per_hour: 2 });
    const pack = [sampleRecord({ files: filesOf(ofBytes(10)) }), ofBytes(10)] as const;
    expect((await upload(node, ...pack)).status).toBe(201);
    const [sha256 = ''] = filesOf(ofBytes(10)).map((file) => file.sha256);
    await writeFile(blobPath(node.dataFolder, sha256), 'damaged');
    expect((await upload(node, ...pack)).status).toBe(200);
    expect((await node.fetch(`/api/blobs/${sha256}`)).status).toBe(200);
    expect(await statuses([write(node), write(node)])).toEqual([201, 429]);
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
