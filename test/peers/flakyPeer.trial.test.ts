import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import type { MirrorResult } from '../../shared/node/peer.ts';
import { openCollectingNode } from '../collection/support.ts';
import { sampleRecord, uploadNewPack } from '../support/archive/packs.ts';
import {
  BODY_FAULTS,
  CALL_FAULTS,
  closeFlakyPeers,
  FlakyPeer,
  type PeerFault,
} from '../support/network/flakyPeer.ts';
import { closeScriptedWebs, page, ScriptedWeb } from '../support/network/scriptedWeb.ts';
import { closeTestNodes, openTestNode, type TestNode } from '../support/node.ts';
import { seededRandom } from '../support/seededRandom.ts';
import { addPeer, expectVerified, mirror } from './support.ts';

afterEach(async () => {
  closeFlakyPeers();
  await closeTestNodes();
  await closeScriptedWebs();
});

const EVERYTHING = { packs: true, sources: true } as const;

/** A node with packs of every relation, a study, captures, and bytes that it withholds and gave up. */
async function filledPeer(): Promise<TestNode> {
  const web = await ScriptedWeb.open();
  web.script('/a', page('one'), page('two'));
  const origin = await openCollectingNode();
  await origin.watch(web.url('/a'), { name: 'Fees' });
  await origin.check();
  await origin.check();
  const { node } = origin;
  await node.sendJson('POST', '/api/nodes', { path: 'ocean', title: 'Ocean' });
  const study = (await (
    await node.sendJson('POST', '/api/studies', { title: 'Does it?', node: 'ocean' })
  ).json()) as { id: string };
  const first = await uploadNewPack(node, sampleRecord({ study: study.id }), { 'a.txt': 'a', 'b.txt': 'b' });
  await uploadNewPack(node, sampleRecord({ title: 'Better', supersedes: first.id }), {
    'c.txt': 'c'.repeat(300_000),
    'd.txt': 'withheld',
  });
  const files = (await (await node.fetch(`/api/packs?limit=10`)).json()) as {
    items: { title: string; files: { path: string; sha256: string }[] }[];
  };
  const named = files.items.flatMap((pack) => pack.files).find(({ path }) => path === 'd.txt');
  await node.sendJson('POST', '/manage/withheld', { sha256: named?.sha256, reason: 'owner' });
  return node;
}

interface State {
  packs: unknown;
  events: unknown;
  withheld: unknown;
}

/** What a visitor of a mirror gets. */
async function stateOf(node: TestNode): Promise<State> {
  const read = async (path: string) =>
    (await (await node.fetch(path)).json()) as { items: Record<string, unknown>[] };
  const packs = (await read('/api/packs?limit=100&sort=title')).items.map(({ id, digest }) => ({
    id,
    digest,
  }));
  const events = (await read('/api/events?limit=100')).items
    .map(
      ({ sha256, event_type, original_observed_at }) =>
        `${String(original_observed_at)} ${String(event_type)} ${String(sha256)}`,
    )
    .sort();
  const withheld = (await read('/api/withheld')).items.map(({ sha256, reason }) => ({ sha256, reason }));
  return { packs, events, withheld };
}

/** Mirrors once, and requires that the owner reads what happened and that nothing partial is left. */
async function mirrorOnce(node: TestNode, id: string, what: string): Promise<boolean> {
  const answer = await node.sendJson('POST', `/manage/peers/${id}/mirror?wait=true`, EVERYTHING);
  const body = (await answer.json()) as MirrorResult & { detail?: string };
  expect([200, 502, 409], what).toContain(answer.status);
  if (answer.status !== 200) expect(body.detail, what).toMatch(/^\S.{10,}[.]$/);
  expect(await readdir(join(node.dataFolder, 'tmp')).catch(() => []), what).toEqual([]);
  return answer.status === 200 && body.refused.length === 0;
}

test('a peer that fails at any call, or in the middle of a body, costs nothing but a second run', async () => {
  const origin = await filledPeer();
  const flaky = await FlakyPeer.open(origin.url);
  const clean = await openTestNode();
  const added = await addPeer(clean, flaky.url);
  flaky.workAgain();
  await mirror(clean, added, EVERYTHING);
  const wanted = await stateOf(clean);
  const calls = [...flaky.calls];
  expect(calls.length).toBeGreaterThan(15);
  const random = seededRandom(35);
  let [runs, failed, reasons] = [0, 0, 0];
  for (const [index, { bytes }] of calls.entries()) {
    const node = await openTestNode({ peerTimer: flaky.timer });
    flaky.workAgain();
    const peer = await addPeer(node, flaky.url);
    const call = index + 1;
    const faults: PeerFault[] = [
      ...CALL_FAULTS.map((fault) => ({ call, fault })),
      ...BODY_FAULTS.map((fault) => ({ call, byte: Math.floor(random() * bytes), fault })),
    ];
    // Each fault comes first at some call.
    for (const fault of [...faults.slice(index % faults.length), ...faults.slice(0, index % faults.length)]) {
      flaky.failAt(fault);
      const isClean = await mirrorOnce(node, peer.id, JSON.stringify({ ...fault, path: calls[index]?.path }));
      runs += 1;
      if (flaky.hasFailed) failed += 1;
      if (!isClean) reasons += 1;
      // Everything came: the later runs have fewer calls.
      if (isClean && !flaky.hasFailed) break;
    }
    flaky.workAgain();
    expect(await mirrorOnce(node, peer.id, `after the faults of call ${call}`)).toBe(true);
    expect(await stateOf(node), `call ${call}: ${calls[index]?.path}`).toEqual(wanted);
    await expectVerified(node);
    await node.close();
  }
  console.log(
    `${calls.length} calls; ${runs} runs with ${failed} faults; ${reasons} said why; ${calls.length} second runs were complete`,
  );
  expect(failed).toBeGreaterThan(2 * calls.length);
}, 600_000);
