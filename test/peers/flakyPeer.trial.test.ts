import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import type { MirrorResult } from '../../shared/node/peer.ts';
import { openCollectingNode } from '../collection/support.ts';
import { publishRelatedPacks, sha256Of } from '../support/archive/packs.ts';
import { BODY_FAULTS, CALL_FAULTS, FlakyPeer, type PeerFault } from '../support/network/flakyPeer.ts';
import { closePeerFronts } from '../support/network/peerFront.ts';
import { closeScriptedWebs, page, ScriptedWeb } from '../support/network/scriptedWeb.ts';
import { closeTestNodes, openTestNode, type TestNode } from '../support/node.ts';
import { seededRandom } from '../support/seededRandom.ts';
import { addPeer, EVERYTHING, expectVerified, mirror, tryToMirror } from './support.ts';

afterEach(async () => {
  closePeerFronts();
  await closeTestNodes();
  await closeScriptedWebs();
});

/** A node with packs of every relation, a study, captures, and bytes that it withholds and gave up. */
async function filledPeer(): Promise<TestNode> {
  const web = await ScriptedWeb.open();
  web.script('/a', page('one'), page('two'));
  const origin = await openCollectingNode();
  await origin.watch(web.url('/a'), { name: 'Fees' });
  await origin.check();
  await origin.check();
  const { node } = origin;
  await publishRelatedPacks(node, {
    path: 'ocean',
    title: 'Does it?',
    files: { 'a.txt': 'a', 'b.txt': 'b' },
    newer: { 'c.txt': 'c'.repeat(300_000), 'd.txt': 'withheld' },
  });
  await node.sendJson('POST', '/manage/withheld', { sha256: sha256Of('withheld'), reason: 'owner' });
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
  const answer = await tryToMirror(node, id);
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
});
