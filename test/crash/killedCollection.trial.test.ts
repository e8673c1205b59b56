import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createParser } from 'eventsource-parser';
import { afterEach, expect, test } from 'vitest';
import type { Event } from '../../shared/collection/event.ts';
import type { LedgerVerification } from '../../shared/ledger/ledger.ts';
import { end, type ServedNode, serveNode } from '../support/cli.ts';
import { closeScriptedWebs, page, ScriptedWeb } from '../support/network/scriptedWeb.ts';
import { closeTestNodes, openTestNode, temporaryFolder } from '../support/node.ts';
import { seededRandom } from '../support/seededRandom.ts';

const ROUNDS = 5;
const SOURCES = 30;
/** Set STRONGROOM_SEED to reproduce a failure. */
const SEED = Number(process.env.STRONGROOM_SEED ?? 20_261_121);

let running: ServedNode | undefined;
afterEach(async () => {
  if (running) await end(running, 'SIGKILL');
  running = undefined;
  await closeTestNodes();
  await closeScriptedWebs();
});

/** Sends a request to a served node as its owner. */
async function asOwner(node: ServedNode, method: string, path: string, body?: unknown): Promise<Response> {
  const token = await readFile(node.token_file, 'utf8');
  return fetch(new URL(path, node.url), {
    method,
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
}

/** Reads the stream of events until it breaks off, and calls `onEvent` with each. */
async function follow(node: ServedNode, after: number, onEvent: (event: Event) => void): Promise<void> {
  const parser = createParser({ onEvent: ({ data }) => onEvent(JSON.parse(data) as Event) });
  const decoder = new TextDecoder();
  try {
    const answer = await fetch(new URL('/api/events/stream', node.url), {
      headers: { 'Last-Event-ID': String(after) },
    });
    for await (const chunk of answer.body ?? [])
      parser.feed(decoder.decode(chunk as Uint8Array, { stream: true }));
  } catch (error) {
    // The node was killed.
    if (!(error instanceof TypeError)) throw error;
  }
}

/** Collects, kills the node after so many events, and returns the events that were streamed. */
async function runRound(folder: string, after: number, events: number): Promise<Event[]> {
  const node = await serveNode(folder);
  running = node;
  const streamed: Event[] = [];
  let killed: Promise<unknown> | undefined;
  const following = follow(node, after, (event) => {
    streamed.push(event);
    if (streamed.length >= events) killed ??= end(node, 'SIGKILL');
  });
  await asOwner(node, 'POST', '/manage/collections');
  await following;
  await killed;
  running = undefined;
  return streamed;
}

test('killing a node while it collects loses no event that it streamed and duplicates none', async () => {
  const random = seededRandom(SEED);
  const web = await ScriptedWeb.open();
  const folder = join(await temporaryFolder(), 'data');
  const first = await serveNode(folder);
  running = first;
  await asOwner(first, 'PATCH', '/manage/settings', { per_host_pause_ms: 0, per_host_concurrency: 8 });
  for (let number = 0; number < SOURCES; number += 1)
    await asOwner(first, 'POST', '/manage/sources', { url: web.url(`/${number}`) });
  await end(first, 'SIGTERM');
  running = undefined;

  const streamed = new Map<number, Event>();
  for (let round = 0; round < ROUNDS; round += 1) {
    for (let number = 0; number < SOURCES; number += 1)
      web.script(`/${number}`, page(`${round} ${number} ${'x'.repeat(random() * 200_000)}`));
    const last = Math.max(0, ...streamed.keys());
    for (const event of await runRound(folder, last, 1 + Math.floor(random() * (SOURCES - 1))))
      streamed.set(event.id, event);
  }

  const node = await openTestNode({ dataFolder: folder });
  const verified = (await (await node.fetch('/api/ledger/verify')).json()) as LedgerVerification;
  expect(verified, `STRONGROOM_SEED=${SEED}`).toMatchObject({ ok: true, problems: [] });
  const { items, total } = (await (await node.fetch('/api/events?limit=500')).json()) as {
    items: Event[];
    total: number;
  };
  expect(items.map(({ id }) => id).sort((left, right) => left - right)).toEqual(
    Array.from({ length: total }, (_, index) => index + 1),
  );
  for (const event of streamed.values()) expect(items).toContainEqual(event);
  const versions = new Map<string, string | null>();
  for (const event of items.toReversed()) {
    const { source, sha256, previous_sha256 } = event;
    expect(previous_sha256, 'each version refers to the previous one').toBe(versions.get(source.id) ?? null);
    versions.set(source.id, sha256);
    const bytes = Buffer.from(await (await node.fetch(`/archive/${sha256}`)).arrayBuffer());
    expect(createHash('sha256').update(bytes).digest('hex')).toBe(sha256);
  }
  expect(await readdir(join(folder, 'tmp'))).toEqual([]);
});
