import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import type { CaptureResult } from '../../shared/collection/captures.ts';
import type { Event } from '../../shared/collection/event.ts';
import type { LedgerVerification } from '../../shared/ledger/ledger.ts';
import type { Job } from '../../shared/node/job.ts';
import { end, type ServedNode, serveNode } from '../support/cli.ts';
import { closeTestNodes, openTestNode, type TestNode, temporaryFolder } from '../support/node.ts';
import { seededRandom } from '../support/seededRandom.ts';
import { gzippedByRecord, response } from '../support/warcFiles.ts';

const KILLS = 3;
const RECORDS = 2_000;
const ADDRESSES = 350;
const PATH = '/manage/captures?observer=Archive';
/** Set STRONGROOM_SEED to reproduce a failure. */
const SEED = Number(process.env.STRONGROOM_SEED ?? 20_261_122);

let running: ServedNode | undefined;
afterEach(async () => {
  if (running) await end(running, 'SIGKILL');
  running = undefined;
  await closeTestNodes();
});

/** A WARC file with captures of some addresses. Each is a new version; some return to the first version. */
function fileOfCaptures(random: () => number): Buffer {
  return gzippedByRecord(
    Array.from({ length: RECORDS }, (_, number) => {
      const address = number % ADDRESSES;
      const visit = Math.floor(number / ADDRESSES);
      const text =
        visit % 3 === 2 && number % 10 === 0 ? 'the first' : `${number} ${'x'.repeat(random() * 9_000)}`;
      return response(visit === 0 ? `${address} the first` : `${address} ${text}`, {
        uri: `http://example.com/${address}`,
        date: `${new Date(Date.parse('2020-01-01T00:00:00Z') + number * 1000).toISOString().slice(0, 19)}Z`,
      });
    }),
  );
}

/** Imports the file and kills the node once it reports `least` recorded captures; returns the reported number. */
async function importUntilKilled(folder: string, file: Buffer, least: number): Promise<number> {
  const node = await serveNode(folder);
  running = node;
  const headers = { Authorization: `Bearer ${await readFile(node.token_file, 'utf8')}` };
  const begun = await fetch(new URL(`${PATH}&wait=false`, node.url), {
    method: 'POST',
    body: new Uint8Array(file),
    headers: { ...headers, 'Content-Type': 'application/warc' },
  });
  const { id } = (await begun.json()) as Job;
  let done = 0;
  while (done < least) {
    const answer = await fetch(new URL(`/manage/jobs/${id}`, node.url), { headers });
    const job = (await answer.json()) as Job;
    expect(job.state, 'the node is killed before the import ends').toBe('running');
    done = job.progress.done;
  }
  await end(node, 'SIGKILL');
  running = undefined;
  return done;
}

async function importAll(node: TestNode, file: Buffer): Promise<CaptureResult> {
  const answer = await node.fetchAsOwner(PATH, {
    method: 'POST',
    body: new Uint8Array(file),
    headers: { 'Content-Type': 'application/warc' },
  });
  return (await answer.json()) as CaptureResult;
}

async function allEvents(node: TestNode): Promise<Event[]> {
  const events: Event[] = [];
  for (;;) {
    const answer = await node.fetch(`/api/events?limit=500&offset=${events.length}`);
    const { items, total } = (await answer.json()) as { items: Event[]; total: number };
    events.push(...items);
    if (events.length >= total) return events.sort((left, right) => left.id - right.id);
  }
}

/** Checks that the ledger is valid, events are numbered and chained, and every object has its bytes. */
async function expectIntact(node: TestNode, events: readonly Event[]): Promise<void> {
  const verified = (await (await node.fetch('/api/ledger/verify')).json()) as LedgerVerification;
  expect(verified, `STRONGROOM_SEED=${SEED}`).toMatchObject({ ok: true, problems: [] });
  expect(events.map(({ id }) => id)).toEqual(events.map((_, index) => index + 1));
  const versions = new Map<string, string | null>();
  for (const { source, sha256, previous_sha256 } of events) {
    expect(previous_sha256).toBe(versions.get(source.id) ?? null);
    versions.set(source.id, sha256);
  }
  for (const sha256 of new Set(events.map((event) => event.sha256))) {
    const bytes = Buffer.from(await (await node.fetch(`/archive/${sha256}`)).arrayBuffer());
    expect(createHash('sha256').update(bytes).digest('hex')).toBe(sha256);
  }
  const { total } = (await (await node.fetchAsOwner('/manage/sources?limit=1')).json()) as { total: number };
  expect(total, 'no source exists without its capture').toBe(versions.size);
}

test('killing a node while it imports loses no capture that it reported, and importing again adds the rest', async () => {
  const random = seededRandom(SEED);
  const file = fileOfCaptures(random);
  const folder = join(await temporaryFolder(), 'data');
  let reported = 0;
  for (let kill = 0; kill < KILLS; kill += 1) {
    // Less than half of the records at last: an import may be much further before it is seen here.
    const least = 1 + Math.floor((RECORDS * (kill + random())) / (KILLS + 4));
    reported = Math.max(reported, await importUntilKilled(folder, file, least));
  }

  const node = await openTestNode({ dataFolder: folder });
  const before = await allEvents(node);
  expect(before.length).toBeGreaterThanOrEqual(reported);
  expect(before.length).toBeLessThan(RECORDS);
  await expectIntact(node, before);
  expect(await readdir(join(folder, 'tmp'))).toEqual([]);

  const result = await importAll(node, file);
  expect(result).toMatchObject({
    captures: RECORDS - before.length,
    already_held: before.length,
    refused: [],
  });
  const events = await allEvents(node);
  expect(events).toHaveLength(RECORDS);
  expect(events.slice(0, before.length)).toEqual(before);
  expect(result.events).toEqual(events.slice(before.length).map(({ id }) => id));
  await expectIntact(node, events);
  expect(await importAll(node, file)).toMatchObject({ captures: 0, already_held: RECORDS, events: [] });
});
