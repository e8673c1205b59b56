import { statSync } from 'node:fs';
import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import type { ReaderLimits } from '../../server/config.ts';
import { sampleRecord, sha256Of, uploadNewPack } from '../support/archive/packs.ts';
import { closeTestNodes, openTestNode, temporaryFolder } from '../support/node.ts';
import { requireThat } from '../support/requirements.ts';
import { response } from '../support/warcFiles.ts';
import type { LeftOver } from './inside.ts';
import { Namespace } from './namespace.ts';

/**
 * Two hundred strangers ask a real node, in a network of its own, for what is long, and read nothing of it. The system
 * holds up to BUFFERS at each end of a connection, and every answer is longer than both.
 */
const BUFFERS = 262_144;
const DUMP = '/api/dump.jsonl';
const WARC = '/api/warc';
const CSV = '/api/events?format=csv';
const LARGE = Buffer.alloc(20 * 2 ** 20, 'strongroom ');
const BLOB = `/api/blobs/${sha256Of(LARGE)}`;
/** From its first event on, with everything that it has missed. */
const STREAM = '/api/events/stream';
/** Of each kind one at least is among those that run. */
const FIRST = [DUMP, WARC, CSV, DUMP];
const OTHERS = Array.from({ length: 196 }, (_, n) => [DUMP, BLOB, WARC, CSV, STREAM][n % 5] as string);

/** Two hundred take about 75 MB of it, 105 on a machine that is busy; a thousand without bounds took 1.9 GB. */
const MOST_MEMORY = 200_000_000;
/** More than the log has by itself, before what is in it is waited for to be copied. */
const LONGEST_LOG = 128_000_000;

/** Readers are only disconnected for stalling when a test lets the node check them. */
const NEVER_MS = 3_600_000;

const SMALL = 'a file of many names';
const ONE_FILE = { sha256: sha256Of(SMALL), bytes: SMALL.length, media_type: 'text/plain' };

let namespace: Namespace | undefined;
let template = '';

beforeAll(async () => {
  template = join(await temporaryFolder(), 'data');
  await fillArchive(template);
});
afterAll(closeTestNodes);
beforeEach(async ({ skip }) => {
  const opened = await Namespace.openOrSayWhyNot();
  if (typeof opened !== 'string') namespace = opened;
  else requireThat(false, opened, skip);
});
afterEach(async () => {
  await namespace?.close();
  namespace = undefined;
});

/** Packs of many files, a large blob, and captures of long addresses: dump, WARC and CSV have two megabytes or more. */
async function fillArchive(dataFolder: string): Promise<void> {
  const node = await openTestNode({ dataFolder });
  await uploadNewPack(node, {}, { 'small.txt': SMALL, 'large.txt': LARGE });
  for (let n = 0; n < 2; n += 1)
    expect((await node.sendJson('POST', '/api/packs', aLargePack(n))).status).toBe(201);
  const captures = Array.from({ length: 1_000 }, (_, n) =>
    response(`page ${n}`, { uri: `http://example.com/${'a-long-address-'.repeat(130)}${n}` }),
  );
  const imported = await node.fetchAsOwner('/manage/captures?observer=Archive', {
    method: 'POST',
    headers: { 'Content-Type': 'application/warc' },
    body: new Uint8Array(Buffer.concat(captures)),
  });
  expect(await imported.json()).toMatchObject({ captures: captures.length });
  await node.close();
}

function aLargePack(n: number, count = 4_000) {
  const path = 'a-long-name-'.repeat(18);
  const files = Array.from({ length: count }, (_, index) => ({ path: `${path}${index}.txt`, ...ONE_FILE }));
  return sampleRecord({ title: `Large ${n}`, files });
}

interface AskedNode {
  namespace: Namespace;
  dataFolder: string;
  /** The ports of all two hundred. */
  ports: number[];
  /** The memory that the node held before. */
  before: number;
}

/** A node, and two hundred that ask it and read nothing, of whom four were there first. */
async function askedNode(readers: Partial<ReaderLimits>): Promise<AskedNode> {
  if (!namespace) throw new Error('There is no network namespace.');
  const dataFolder = join(await temporaryFolder(), 'data');
  await cp(template, dataFolder, { recursive: true });
  await namespace.limitBuffers(BUFFERS);
  await namespace.serve('127.0.0.1');
  await namespace.startNode(dataFolder, { stallTimeoutMs: NEVER_MS, ...readers });
  await namespace.ask('GET', '/api/health');
  const before = await namespace.nodeMemory();
  const first = await namespace.stall(FIRST);
  await expect.poll(() => oneMore()).toBe(503);
  const others = await namespace.stall(OTHERS);
  return { namespace, dataFolder, ports: [...first, ...others], before };
}

/** What the node says of one more export now. */
async function oneMore(): Promise<number | undefined> {
  return (await namespace?.answer('HEAD', DUMP))?.status;
}

const isWhole = ({ lastBytes }: LeftOver) => lastBytes.endsWith('0\r\n\r\n');
const isExport = ({ path }: Pick<LeftOver, 'path'>) => path !== BLOB && path !== STREAM;

test('of two hundred stalled export requests four run, the others get busy, and all are disconnected', async () => {
  const { namespace, ports, before } = await askedNode({});
  const connected = async () => {
    const now = await namespace.connectedPorts();
    return ports.filter((port) => now.has(port)).length;
  };
  expect(await connected()).toBeGreaterThan(0);
  let memory = before;
  let healthy = 0;
  while ((await connected()) > 0) {
    namespace.checkReaders();
    expect(await namespace.ask('GET', '/api/health')).toEqual({ status: 'up' });
    healthy += 1;
    memory = Math.max(memory, await namespace.nodeMemory());
  }
  expect(healthy).toBeGreaterThan(10);
  expect(memory - before).toBeLessThan(MOST_MEMORY);

  const left = await namespace.readStalled();
  expect(left).toHaveLength(200);
  const ran = left.filter((one) => isExport(one) && one.head.startsWith('HTTP/1.1 200 '));
  expect(ran.map(({ path }) => path).toSorted()).toEqual(FIRST.toSorted());
  expect(ran.filter(isWhole)).toEqual([]);
  const refused = left.filter((one) => isExport(one) && !ran.includes(one));
  expect(refused).toHaveLength(OTHERS.filter((path) => isExport({ path })).length);
  for (const { head, lastBytes } of refused) {
    expect(head).toMatch(/^HTTP\/1\.1 503 /);
    expect(head).toMatch(/^Retry-After: 60$/m);
    expect(JSON.parse(lastBytes)).toMatchObject({ status: 503, code: 'busy' });
  }
  for (const one of left.filter((other) => !isExport(other))) {
    expect(one.head).toMatch(/^HTTP\/1\.1 200 /);
    if (one.path === BLOB) expect(one.bodyBytes).toBeLessThan(LARGE.length);
    else expect(isWhole(one)).toBe(false);
  }
  expect(await oneMore()).toBe(200);
  // What strangers are refused is no fault of the node's, and does not fill its log.
  expect(namespace.nodeLog).toEqual([]);
});

test('with two hundred stalled readers the log stays bounded and the node closes without waiting for them', async () => {
  const { namespace, dataFolder } = await askedNode({ maxWriteAheadLogBytes: LONGEST_LOG });
  const logBytes = () => statSync(join(dataFolder, 'strongroom.db-wal')).size;
  let longest = 0;
  let written = 0;
  // Nobody is cut off for stalling in this time: that another export may begin is the log's doing.
  while (written < 200 && (await oneMore()) === 503) {
    await namespace.ask('POST', '/api/packs', aLargePack(1_000 + written, 500));
    longest = Math.max(longest, logBytes());
    written += 1;
  }
  expect(await oneMore()).toBe(200);
  // The others are ended alike, one after the other, and then the log is used anew.
  for (let more = 0; more < 40; more += 1) {
    await namespace.ask('POST', '/api/packs', aLargePack(2_000 + more, 500));
    longest = Math.max(longest, logBytes());
  }
  expect(longest).toBeGreaterThan(LONGEST_LOG / 2);
  expect(longest).toBeLessThan(LONGEST_LOG);

  // The readers are not waited for; the test would time out.
  expect(await namespace.endNode()).toBe(0);
});
