import { readdir, readFile } from 'node:fs/promises';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import Database from 'better-sqlite3';
import { afterEach, expect, test } from 'vitest';
import type { Pack, PackVerification } from '../../shared/archive/pack.ts';
import type { LedgerVerification } from '../../shared/ledger/ledger.ts';
import { sampleRecord } from '../support/archive/packs.ts';
import { end, type ServedNode, serveNode } from '../support/cli.ts';
import { closeTestNodes, temporaryFolder } from '../support/node.ts';
import { seededRandom } from '../support/seededRandom.ts';

const ROUNDS = 6;
const UPLOADERS = 4;
const CHUNK_BYTES = 16_384;
/** Set STRONGROOM_SEED to reproduce a failure. */
const SEED = Number(process.env.STRONGROOM_SEED ?? 20_261_120);

let running: ServedNode | undefined;
afterEach(async () => {
  if (running) await end(running, 'SIGKILL');
  running = undefined;
  await closeTestNodes();
});

/** State shared by the uploaders of one round. */
interface Round {
  node: ServedNode;
  token: string;
  random: () => number;
  acknowledged: string[];
  /** `sent` and `answered` count the progress and kill the node at the chosen moment. */
  sent: (bytes: number) => void;
  answered: () => void;
}

function uploadBody(round: Round, title: string): Buffer {
  const size = Math.floor(round.random() * 300_000);
  const content = Buffer.from(Array.from({ length: 64 }, () => Math.floor(round.random() * 256)));
  const file = Buffer.alloc(size, content);
  return Buffer.concat([
    Buffer.from(
      `--b\r\nContent-Disposition: form-data; name="record"\r\n\r\n${JSON.stringify(sampleRecord({ title }))}\r\n`,
    ),
    Buffer.from(
      '--b\r\nContent-Disposition: form-data; name="files"; filename="small.txt"\r\n\r\nthe same in every pack\r\n',
    ),
    Buffer.from('--b\r\nContent-Disposition: form-data; name="files"; filename="data/large.bin"\r\n\r\n'),
    file,
    Buffer.from('\r\n--b--\r\n'),
  ]);
}

/** Uploads one pack, chunk by chunk; rejects when the node is killed. */
async function upload(round: Round, title: string): Promise<void> {
  const body = uploadBody(round, title);
  const request = httpRequest(new URL('/api/packs', round.node.url), {
    method: 'POST',
    headers: {
      'Content-Type': 'multipart/form-data; boundary=b',
      'Content-Length': body.length,
      Authorization: `Bearer ${round.token}`,
    },
  });
  const answer = new Promise<IncomingMessage>((resolve, reject) => {
    request.on('response', resolve).on('error', reject);
  });
  // The failure is reported where the answer is awaited below.
  answer.catch(() => {});
  for (let from = 0; from < body.length; from += CHUNK_BYTES) {
    const chunk = body.subarray(from, from + CHUNK_BYTES);
    await new Promise<void>((resolve, reject) =>
      request.write(chunk, (error) => (error ? reject(error) : resolve())),
    );
    round.sent(chunk.length);
  }
  request.end();
  const response = await answer;
  const pack = (await json(response)) as Pack;
  expect(response.statusCode, JSON.stringify(pack)).toBe(201);
  round.acknowledged.push(pack.id);
  round.answered();
}

async function uploadUntilKilled(round: Round, name: string): Promise<void> {
  for (let count = 0; ; count += 1) {
    try {
      await upload(round, `${name}, pack ${count}`);
    } catch (error) {
      if (error instanceof Error && 'code' in error) return;
      throw error;
    }
  }
}

/** Starts the node, uploads in parallel and kills it at a random moment: after a byte or after an answer. */
async function runRound(folder: string, number: number, random: () => number): Promise<string[]> {
  const node = await serveNode(folder);
  running = node;
  const byBytes = random() < 0.5;
  let left = byBytes ? 200_000 + Math.floor(random() * 4_000_000) : 1 + Math.floor(random() * 25);
  let killed: Promise<unknown> | undefined;
  const count = (amount: number) => {
    left -= amount;
    if (left <= 0) killed ??= end(node, 'SIGKILL');
  };
  const round: Round = {
    node,
    token: await readFile(node.token_file, 'utf8'),
    random,
    acknowledged: [],
    sent: (bytes) => byBytes && count(bytes),
    answered: () => byBytes || count(1),
  };
  await Promise.all(
    Array.from({ length: UPLOADERS }, (_, index) =>
      uploadUntilKilled(round, `Round ${number}, uploader ${index}`),
    ),
  );
  await killed;
  running = undefined;
  return round.acknowledged;
}

async function get<Answer>(node: ServedNode, path: string): Promise<Answer> {
  const response = await fetch(new URL(path, node.url));
  expect(response.status, path).toBe(200);
  return (await response.json()) as Answer;
}

/** Returns the digests of the blobs in the folder, and of those that rows reference. */
async function blobsOf(folder: string): Promise<{ stored: string[]; referenced: string[] }> {
  const names = await readdir(join(folder, 'blobs'), { recursive: true });
  const database = new Database(join(folder, 'strongroom.db'), { readonly: true });
  const referenced = database.prepare('SELECT sha256 FROM blobs ORDER BY sha256').pluck().all() as string[];
  database.close();
  return {
    stored: names
      .map((name) => name.slice(-64))
      .filter((name) => /^[0-9a-f]{64}$/.test(name))
      .sort(),
    referenced,
  };
}

test(`kill -9 during uploads loses no acknowledged pack and leaves no incomplete one (seed ${SEED})`, async () => {
  const folder = join(await temporaryFolder(), 'data');
  const random = seededRandom(SEED);
  const acknowledged: string[] = [];
  for (let number = 0; number < ROUNDS; number += 1) {
    acknowledged.push(...(await runRound(folder, number, random)));
  }
  expect(acknowledged.length).toBeGreaterThan(ROUNDS);

  const node = await serveNode(folder);
  running = node;
  expect(await readdir(join(folder, 'tmp'))).toEqual([]);
  const { stored, referenced } = await blobsOf(folder);
  expect(stored).toEqual(referenced);
  expect(await get<LedgerVerification>(node, '/api/ledger/verify')).toMatchObject({ ok: true, problems: [] });
  const { items, total } = await get<{ items: Pack[]; total: number }>(node, '/api/packs?limit=500');
  expect(items).toHaveLength(total);
  // A pack without an answer may be stored; then it must be complete.
  const ids = items.map(({ id }) => id);
  expect(ids).toEqual(expect.arrayContaining(acknowledged));
  for (const id of ids) {
    expect(await get<PackVerification>(node, `/api/packs/${id}/verify`), id).toMatchObject({ ok: true });
  }
});
