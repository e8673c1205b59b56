import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { restoreDump } from '../../../server/dump/restoreDump.ts';
import { forkChild, type StartChild } from '../../../server/runtime/child.ts';
import { openStore } from '../../../server/store/store.ts';
import type { Event } from '../../../shared/collection/event.ts';
import type { LedgerEntry, LedgerVerification } from '../../../shared/ledger/ledger.ts';
import { systemClock } from '../../../shared/values/clock.ts';
import { eventually } from '../../support/eventually.ts';
import { closeScriptedWebs, page, ScriptedWeb } from '../../support/network/scriptedWeb.ts';
import { closeTestNodes, DERIVING, openTestNode, temporaryFolder } from '../../support/node.ts';
import { CollectingNode, openCollectingNode } from '../support.ts';

afterEach(async () => {
  await closeTestNodes();
  await closeScriptedWebs();
});

const CLOCK = { kind: 'selector', value: 'time', note: '' };

/** A node with a change that a rule marks as noise, and a change of a source without rules. */
async function nodeWithNoise(): Promise<CollectingNode> {
  const node = await openCollectingNode({}, DERIVING);
  const web = await ScriptedWeb.open();
  for (const path of ['/ruled', '/free'])
    web.script(path, page('<p>A<time>1</time>'), page('<p>A<time>2</time>'));
  await node.watch(web.url('/ruled'), { noise_rules: [CLOCK] });
  await node.watch(web.url('/free'));
  await node.check();
  await node.check();
  const marks = async () => (await node.events('event_type=changed')).map(({ is_noise }) => is_noise);
  await eventually(async () => expect(new Set(await marks())).toEqual(new Set([null, true])));
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

test('a dump contains the rules and their marks, and restoring it restores both', async () => {
  const node = await nodeWithNoise();
  const dump = await (await node.node.fetch('/api/dump.jsonl')).text();
  const again = await restored(dump);
  expect(await again.events()).toEqual(await node.events());
  const rules = await again.read<{ items: { noise_rules: object[] }[] }>('/manage/sources');
  expect(rules.items.map(({ noise_rules }) => noise_rules)).toEqual([[], [CLOCK]]);
  expect((await again.read<LedgerVerification>('/api/ledger/verify')).ok).toBe(true);
});

test('noise rules do not change the ledger records of events and of sources without rules', async () => {
  const node = await nodeWithNoise();
  const dump = await (await node.node.fetch('/api/dump.jsonl')).text();
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

/**
 * Starts processes that get no task before `release`. Otherwise a slow machine could compare as fast as it takes requests,
 * and refuse none.
 */
function heldChildren(): { startChild: StartChild; release: () => void } {
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const startChild: StartChild = (options) => {
    const child = forkChild(options);
    return { ...child, send: (message) => void released.then(() => child.send(message)) };
  };
  return { startChild, release };
}

/** Waits until one of the requests was refused. */
async function oneRefused(requests: readonly Promise<Response>[]): Promise<void> {
  await Promise.any(requests.map(async (answer) => expect((await answer).status).toBe(503)));
}

test('refuses requests for more diffs than the limit, and answers them later', async () => {
  const { startChild, release } = heldChildren();
  const node = await openCollectingNode({ per_host_concurrency: 20 }, { startChild });
  const web = await ScriptedWeb.open();
  for (let number = 0; number < 40; number += 1) {
    web.script(`/${number}`, page(`a ${number}`), page(`b ${number}`));
    await node.watch(web.url(`/${number}`));
  }
  await node.check();
  await node.check();
  const changes = await node.events('event_type=changed');
  expect(changes).toHaveLength(40);
  const requests = changes.map(({ id }) => node.node.fetch(`/api/events/${id}/diff`));
  await oneRefused(requests);
  release();
  const answers = await Promise.all(requests);
  const refused = answers.filter(({ status }) => status === 503);
  expect(refused.length).toBeGreaterThan(0);
  expect(refused[0]?.headers.get('Retry-After')).toBe('30');
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(40 - refused.length);
  for (const { id } of changes) expect((await node.node.fetch(`/api/events/${id}/diff`)).status).toBe(200);
});

test('diffs of one source do not use up the limit of all sources', async () => {
  const { startChild, release } = heldChildren();
  const node = await openCollectingNode({ per_host_concurrency: 20 }, { startChild });
  const web = await ScriptedWeb.open();
  const versions = Array.from({ length: 41 }, (_, number) => page(`a ${number}`));
  web.script('/many', ...versions);
  web.script('/one', page('a'), page('b'));
  const many = await node.watch(web.url('/many'));
  const one = await node.watch(web.url('/one'));
  for (let round = 0; round < 41; round += 1) await node.check([many.id]);
  for (let round = 0; round < 2; round += 1) await node.check([one.id]);
  const changes = await node.events('event_type=changed');
  const [newest, ...others] = changes;
  const requests = others.map(({ id }) => node.node.fetch(`/api/events/${id}/diff`));
  await oneRefused(requests);
  const pending = node.node.fetch(`/api/events/${newest?.id}/diff`);
  // When this is answered, the one before it has arrived.
  await node.node.fetch('/api/health');
  release();
  const otherSource = await pending;
  expect(newest?.source.id).toBe(one.id);
  expect(otherSource.status).toBe(200);
  const statuses = (await Promise.all(requests)).map(({ status }) => status);
  expect(statuses.filter((status) => status === 503).length).toBeGreaterThan(0);
});
