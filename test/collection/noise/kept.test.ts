import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, test, vi } from 'vitest';
import { restoreDump } from '../../../server/dump/restoreDump.ts';
import { openStore } from '../../../server/store/store.ts';
import { systemClock } from '../../../shared/clock.ts';
import type { Event } from '../../../shared/event.ts';
import type { LedgerEntry, LedgerVerification } from '../../../shared/ledger.ts';
import { closeTestNodes, openTestNode, temporaryFolder } from '../../support/node.ts';
import { closeScriptedWebs, page, ScriptedWeb } from '../../support/scriptedWeb.ts';
import { CollectingNode, openCollectingNode } from '../support.ts';

afterEach(async () => {
  await closeTestNodes();
  await closeScriptedWebs();
});

const CLOCK = { kind: 'selector', value: 'time', note: '' };

/** A node with a change that is noise by a rule, and one of a source without rules. */
async function nodeWithNoise(): Promise<CollectingNode> {
  const node = await openCollectingNode();
  const web = await ScriptedWeb.open();
  for (const path of ['/ruled', '/free'])
    web.script(path, page('<p>A<time>1</time>'), page('<p>A<time>2</time>'));
  await node.watch(web.url('/ruled'), { noise_rules: [CLOCK] });
  await node.watch(web.url('/free'));
  await node.check();
  await node.check();
  const marks = async () => (await node.events('event_type=changed')).map(({ is_noise }) => is_noise);
  await vi.waitFor(async () => expect(new Set(await marks())).toEqual(new Set([null, true])), {
    timeout: 18_000,
  });
  return node;
}

async function restored(dump: string): Promise<CollectingNode> {
  const folder = await temporaryFolder();
  const file = join(folder, 'dump.jsonl');
  await writeFile(file, dump);
  const store = await openStore({ folder: join(folder, 'data'), clock: systemClock });
  try {
    await restoreDump(store, file);
  } finally {
    await store.close();
  }
  return new CollectingNode(await openTestNode({ dataFolder: join(folder, 'data') }));
}

test('a dump holds the rules and what they marked, and is read back with both', async () => {
  const node = await nodeWithNoise();
  const dump = await (await node.node.ask('/api/dump.jsonl')).text();
  const again = await restored(dump);
  expect(await again.events()).toEqual(await node.events());
  const rules = await again.read<{ items: { noise_rules: object[] }[] }>('/manage/sources');
  expect(rules.items.map(({ noise_rules }) => noise_rules)).toEqual([[], [CLOCK]]);
  expect((await again.read<LedgerVerification>('/api/ledger/verify')).ok).toBe(true);
});

test('what the ledger recorded of events and of sources without rules is what it was before there were rules', async () => {
  const node = await nodeWithNoise();
  const dump = await (await node.node.ask('/api/dump.jsonl')).text();
  const lines = dump
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  const records = lines
    .filter(({ kind }) => kind === 'source_revision')
    .map(({ record }) => record as object);
  expect(records.map((record) => Object.hasOwn(record, 'noise_rules'))).toEqual([true, false]);
  const entries = await node.read<{ items: LedgerEntry[] }>('/api/ledger?limit=500');
  const [marked] = (await node.events()).filter(({ is_noise }) => is_noise);
  const before = digestOf(entries.items, marked);
  const source = marked?.source.id;
  await node.node.sendJson('PATCH', `/manage/sources/${source}`, { noise_rules: [] });
  const after = await node.read<{ items: LedgerEntry[] }>('/api/ledger?limit=500');
  expect(digestOf(after.items, marked)).toBe(before);
  expect((await node.read<LedgerVerification>('/api/ledger/verify')).ok).toBe(true);
});

function digestOf(entries: readonly LedgerEntry[], event: Event | undefined): string | undefined {
  return entries.find(({ seq }) => seq === event?.ledger_entry)?.digest;
}

test('who asks for more diffs than can be made at once is told to come again, and gets them then', async () => {
  const node = await openCollectingNode({ per_host_concurrency: 20 });
  const web = await ScriptedWeb.open();
  for (let number = 0; number < 20; number += 1) {
    web.script(`/${number}`, page(`a ${number}`), page(`b ${number}`));
    await node.watch(web.url(`/${number}`));
  }
  await node.check();
  await node.check();
  const changes = await node.events('event_type=changed');
  expect(changes).toHaveLength(20);
  const asked = await Promise.all(changes.map(({ id }) => node.node.ask(`/api/events/${id}/diff`)));
  const refused = asked.filter(({ status }) => status === 503);
  expect(refused.length).toBeGreaterThan(0);
  expect(refused[0]?.headers.get('Retry-After')).toBe('30');
  expect(asked.filter(({ status }) => status === 200)).toHaveLength(20 - refused.length);
  for (const { id } of changes) expect((await node.node.ask(`/api/events/${id}/diff`)).status).toBe(200);
});
