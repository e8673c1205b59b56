import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, describe, expect, test } from 'vitest';
import { filesOf, packForm, sampleRecord } from '../support/archive/packs.ts';
import { ManualClock } from '../support/manualClock.ts';
import { readToEnd, sendRaw } from '../support/network/rawConnection.ts';
import { ofBytes, openSharedNode, refusalOf, statuses, upload, write } from '../support/network/visitors.ts';
import { closeTestNodes, openTestNode, type TestNode } from '../support/node.ts';

afterEach(closeTestNodes);

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
