import { once } from 'node:events';
import { statSync } from 'node:fs';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import type { ReaderLimits } from '../../server/config.ts';
import { problemOf, sampleRecord, sha256Of, uploadNewPack } from '../support/archive/packs.ts';
import { readToEnd, requestAndStall } from '../support/network/rawConnection.ts';
import { closeTestNodes, openTestNode, type TestNode, temporaryFolder } from '../support/node.ts';

const sockets: Socket[] = [];
let template: string;

beforeAll(async () => {
  template = join(await mkdtemp(join(tmpdir(), 'strongroom-large-')), 'data');
  const node = await openTestNode({ dataFolder: template });
  const content = 'a file of many names';
  const one = { sha256: sha256Of(content), bytes: content.length, media_type: 'text/plain' };
  await uploadNewPack(node, {}, { 'a.txt': content });
  for (let pack = 0; pack < 5; pack += 1) {
    const path = 'a-long-name-'.repeat(18);
    const files = Array.from({ length: 4_000 }, (_, index) => ({ path: `${path}${index}.txt`, ...one }));
    const answer = await node.sendJson('POST', '/api/packs', sampleRecord({ title: `Large ${pack}`, files }));
    expect(answer.status).toBe(201);
  }
  await closeTestNodes();
});
afterAll(() => rm(join(template, '..'), { recursive: true }));
afterEach(async () => {
  vi.useRealTimers();
  for (const socket of sockets.splice(0)) socket.destroy();
  await closeTestNodes();
});

/** Opens a node whose dump is larger than the socket buffers of both sides. */
async function largeNode(readers: Partial<ReaderLimits>): Promise<TestNode> {
  const dataFolder = join(await temporaryFolder(), 'data');
  await cp(template, dataFolder, { recursive: true });
  return openTestNode({ readers, dataFolder });
}

/** The node checks its readers twelve times in this time: once a second. */
const STALL_TIMEOUT_MS = 12_000;
const CHECK_MS = 1_000;
/** More than fill the buffers of a connection, and twelve after that. */
const MANY_CHECKS = 80;
/** What a slow reader reads at once. */
const READ_AT_ONCE = 2_000_000;

/** Call it before the node is opened. Then the node checks its readers when `passChecks` says so. */
function stopChecks(): void {
  vi.useFakeTimers({ toFake: ['setInterval'] });
}

/** Lets the node check its readers this many times, and sends and receives in between. */
async function passChecks(node: TestNode, count: number): Promise<void> {
  for (let check = 0; check < count; check += 1) {
    vi.advanceTimersByTime(CHECK_MS);
    expect((await node.fetch('/api/health')).status).toBe(200);
  }
}

/** Larger than the normal length of the log, at which commits wait for a checkpoint. */
const LONGEST_LOG = 56_000_000;
let made = 0;

/** Makes the log grow by two megabytes from outside the node, then by a commit of the node. */
async function growLog(node: TestNode): Promise<void> {
  const database = new Database(join(node.dataFolder, 'strongroom.db'));
  made += 1;
  database.prepare('INSERT INTO settings VALUES (?, ?)').run(`row ${made}`, 'x'.repeat(2_000_000));
  database.close();
  const answer = await node.sendJson('POST', '/api/nodes', { path: `n${made}`, title: 'One more' });
  expect(answer.status).toBe(201);
}

function stall(node: TestNode, path: string): Socket {
  const socket = requestAndStall(node.url, path);
  socket.on('error', () => {});
  sockets.push(socket);
  return socket;
}

/** Returns the status of an additional export. */
async function statusOfOneMore(node: TestNode, path = '/api/dump.jsonl'): Promise<number> {
  return (await fetch(new URL(path, node.url), { method: 'HEAD' })).status;
}

const logBytes = (node: TestNode) => statSync(join(node.dataFolder, 'strongroom.db-wal')).size;

describe('readers that stall (contract-2, section 7)', () => {
  test('with four stalled exports a fifth is refused with 503 busy, until they are disconnected', async () => {
    stopChecks();
    const node = await largeNode({ stallTimeoutMs: STALL_TIMEOUT_MS });
    const stalled = [1, 2, 3, 4].map(() => stall(node, '/api/dump.jsonl'));
    await expect.poll(() => statusOfOneMore(node)).toBe(503);
    for (const path of ['/api/dump.jsonl', '/api/warc', '/api/events?format=csv']) {
      const refused = await node.fetch(path);
      expect(refused.headers.get('Retry-After')).toBe('60');
      expect(await problemOf(refused), path).toMatchObject({ status: 503, code: 'busy' });
    }
    expect((await node.fetch('/api/events')).status).toBe(200);

    await passChecks(node, MANY_CHECKS);
    expect(await statusOfOneMore(node)).toBe(200);
    for (const socket of stalled) expect((await readToEnd(socket)).includes('"kind":"trailer"')).toBe(false);
    const whole = await (await node.fetch('/api/dump.jsonl')).text();
    expect(whole).toContain('"kind":"trailer"');
  });

  test('a slow reader is not disconnected', async () => {
    stopChecks();
    const node = await openTestNode({ readers: { stallTimeoutMs: STALL_TIMEOUT_MS } });
    const content = 'z'.repeat(40_000_000);
    await uploadNewPack(node, {}, { 'large.txt': content });
    const socket = stall(node, `/api/blobs/${sha256Of(content)}`);
    let bytes = 0;
    socket.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
    });
    socket.pause();
    // Reads for three times the limit in total, a little every third of it. More than fits into the buffers is left.
    for (let turn = 1; turn <= 9; turn += 1) {
      await passChecks(node, 4);
      socket.resume();
      while (bytes < turn * READ_AT_ONCE) await once(socket, 'data');
      socket.pause();
    }
    socket.resume();
    while (bytes < content.length) await once(socket, 'data');
  });

  test('stalled readers of blobs and pack files are disconnected too, and their responses are incomplete', async () => {
    stopChecks();
    const node = await openTestNode({ readers: { stallTimeoutMs: STALL_TIMEOUT_MS } });
    const content = 'y'.repeat(20_000_000);
    const { id } = await uploadNewPack(node, {}, { 'large.txt': content });
    for (const path of [`/api/blobs/${sha256Of(content)}`, `/api/packs/${id}/file`]) {
      const socket = stall(node, path);
      // Some data was sent, but not more than fits into the buffers.
      await once(socket, 'readable');
      await passChecks(node, MANY_CHECKS);
      const got = await readToEnd(socket);
      expect(got.length, path).toBeGreaterThan(0);
      expect(got.length, path).toBeLessThan(content.length);
    }
  });

  test('a stream without events stays open', async () => {
    stopChecks();
    const node = await openTestNode({ readers: { stallTimeoutMs: STALL_TIMEOUT_MS } });
    const socket = stall(node, '/api/events/stream');
    await once(socket, 'readable');
    await passChecks(node, MANY_CHECKS);
    let isClosed = false;
    socket.on('close', () => {
      isClosed = true;
    });
    socket.resume();
    await passChecks(node, 1);
    expect(isClosed).toBe(false);
  });

  // Waiting for the reader to be disconnected, as after an hour here, would exceed the timeout of the test.
  test('a node with a stalled reader closes without waiting for it', async () => {
    const node = await largeNode({ stallTimeoutMs: 3_600_000 });
    const socket = stall(node, '/api/dump.jsonl');
    await once(socket, 'readable');
    await node.close();
    expect((await readToEnd(socket)).includes('"kind":"trailer"')).toBe(false);
  });

  test('an export is aborted without its trailer before the log exceeds the limit', async () => {
    const node = await largeNode({ maxWriteAheadLogBytes: LONGEST_LOG });
    // Each has its own snapshot, and both prevent a reset of the log.
    const [first, second] = [stall(node, '/api/dump.jsonl'), stall(node, '/api/dump.jsonl')];
    await Promise.all([once(first, 'readable'), once(second, 'readable')]);
    let longest = 0;
    for (let turn = 0; turn < 40; turn += 1) {
      await growLog(node);
      longest = Math.max(longest, logBytes(node));
    }
    expect(longest).toBeLessThan(LONGEST_LOG);
    for (const socket of [first, second]) {
      expect((await readToEnd(socket)).includes('"kind":"trailer"')).toBe(false);
    }
    const whole = await (await node.fetch('/api/dump.jsonl')).text();
    expect(whole).toContain('"kind":"trailer"');
  });

  test('connections beyond the limit are closed without a response, and open ones are kept', async () => {
    const node = await openTestNode({ readers: { connections: 3 } });
    const open = [1, 2, 3].map(() => stall(node, '/api/health'));
    await Promise.all(open.map((socket) => once(socket, 'readable')));
    expect(await readToEnd(requestAndStall(node.url, '/api/health'))).toHaveLength(0);
    open[0]?.destroy();
    await expect
      .poll(async () =>
        fetch(`${node.url}/api/health`).then(
          ({ status }) => status,
          () => 0,
        ),
      )
      .toBe(200);
  });
});
