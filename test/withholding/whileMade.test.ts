import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { forkChild, type StartChild } from '../../server/runtime/child.ts';
import { type CollectingNode, openCollectingNode } from '../collection/support.ts';
import { addCopy, check, release, sync, withhold } from '../copies/withheldCopies.ts';
import { Dice } from '../simulate/dice.ts';
import { everythingIn, newMarker } from '../simulate/markers.ts';
import { sampleRecord, sha256Of, uploadNewPack } from '../support/archive/packs.ts';
import { closeScriptedWebs, page, ScriptedWeb } from '../support/network/scriptedWeb.ts';
import { closeTestNodes, openTestNode, type TestNode, temporaryFolder } from '../support/node.ts';
import { HTML, titled } from './quotes.ts';
import { builtInterface } from './support.ts';

/* An answer that takes long to make says nothing of bytes that were withheld or released while it was made. */

afterEach(async () => {
  await closeTestNodes();
  await closeScriptedWebs();
});

const dice = new Dice(2_030);

/** Answers of something that are held back from some time on. */
interface Held {
  answered: () => void;
  through: Promise<void>;
}

type Hold = () => { isAnswered: Promise<void>; letThrough: () => void };

function holding(set: (held: Held) => void): Hold {
  return () => {
    const [answered, through] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    set({ answered: answered.resolve, through: through.promise });
    return { isAnswered: answered.promise, letThrough: through.resolve };
  };
}

/** A node whose process that reads documents has its answers held back from some time on. */
async function slowNode(): Promise<{ node: CollectingNode; hold: Hold }> {
  let held: Held | undefined;
  const startChild: StartChild = (options) =>
    forkChild({
      ...options,
      onMessage: (message) => {
        if (!held || 'isReady' in (message as object)) return options.onMessage(message);
        held.answered();
        void held.through.then(() => options.onMessage(message));
      },
    });
  const node = await openCollectingNode({}, { startChild, rendererFolder: await builtInterface() });
  return { node, hold: holding((set) => (held = set)) };
}

/** A node whose files are in a copy only, of which every reading is held back from some time on. */
async function slowCopy(files: Readonly<Record<string, string>>): Promise<{
  node: TestNode;
  pack: string;
  hold: Hold;
}> {
  let held: Held | undefined;
  const node = await openTestNode({
    aroundCopies: (target) => ({
      ...target,
      read: async (...asked) => {
        held?.answered();
        await held?.through;
        return target.read(...asked);
      },
    }),
  });
  const copy = await addCopy(node, join(await temporaryFolder(), 'copy'), { pages: false });
  const { id: pack } = await uploadNewPack(node, {}, files);
  await sync(node, copy);
  await check(node, copy);
  await node.sendJson('PATCH', '/manage/settings', { offload_after_days: 0 });
  await node.fetchAsOwner('/manage/offload?wait=true', { method: 'POST' });
  const state = await (await node.fetchAsOwner('/manage/offload')).json();
  expect(state).toMatchObject({ offloaded_objects: Object.keys(files).length, local_bytes: 0 });
  return { node, pack, hold: holding((set) => (held = set)) };
}

interface Made {
  sha256: string;
  change: number;
  packs: [older: string, newer: string];
}

/** Two versions of a page, which are files of packs as well. */
async function twoVersions(node: CollectingNode, bodies: readonly [string, string]): Promise<Made> {
  const web = await ScriptedWeb.open();
  web.script('/page', ...bodies.map((body) => page(body, HTML)));
  const { id } = await node.watch(web.url('/page'));
  for (const _version of bodies) await node.check([id]);
  const packs: string[] = [];
  for (const body of bodies) {
    const record = sampleRecord({ title: `Pack ${packs.length}`, supersedes: packs[0] ?? null });
    packs.push((await uploadNewPack(node.node, record, { 'page.html': body })).id);
  }
  const [change] = await node.events('event_type=changed');
  return { sha256: sha256Of(bodies[1]), change: change?.id ?? 0, packs: packs as [string, string] };
}

const MADE: Readonly<Record<string, (made: Made) => string>> = {
  'the text of an object': ({ sha256 }) => `/archive/${sha256}/text`,
  'an archived page': ({ sha256 }) => `/archive/${sha256}/page`,
  'a diff': ({ change }) => `/api/events/${change}/diff`,
  'an evidence file': ({ change }) => `/api/events/${change}/evidence`,
  'a comparison of files': ({ packs: [older, newer] }) =>
    `/api/packs/${newer}/compare/file?with=${older}&path=page.html`,
};

/** Asks for something, and has bytes that it is made of hidden while it is made. Returns whether the answer has words of them. */
async function isTold(
  addressOf: (made: Made) => string,
  hide: (node: CollectingNode, sha256: string) => Promise<void>,
): Promise<boolean> {
  const [{ node, hold }, marker] = [await slowNode(), newMarker(dice)];
  const made = await twoVersions(node, [titled('A page', 'Before.'), titled('A page', marker)]);
  const { isAnswered, letThrough } = hold();
  const asked = node.node.fetch(addressOf(made));
  await isAnswered;
  await hide(node, made.sha256);
  letThrough();
  const answer = await asked;
  return everythingIn(Buffer.from(await answer.arrayBuffer())).includes(marker);
}

test.each(Object.entries(MADE))('%s, of bytes that are withheld', async (_what, addressOf) => {
  expect(await isTold(addressOf, async () => {})).toBe(true);
  expect(await isTold(addressOf, (node, sha256) => withhold(node.node, { sha256 }))).toBe(false);
});

test('the text of bytes that are released', async () => {
  const addressOf = ({ sha256 }: Made) => `/archive/${sha256}/text`;
  expect(await isTold(addressOf, (node, sha256) => release(node.node, sha256))).toBe(false);
});

const HIDE: Readonly<Record<string, (node: TestNode, sha256: string) => Promise<void>>> = {
  withheld: (node, sha256) => withhold(node, { sha256 }),
  released: release,
};
/** The marker is at the end. */
const OFFLOADED: Readonly<Record<string, { bytes: number; range?: string }>> = {
  'a small object': { bytes: 1_000 },
  'a range of a small object': { bytes: 1_000, range: 'bytes=-100' },
  'two ranges of a small object': { bytes: 1_000, range: 'bytes=0-9,-100' },
  'a small range of an object': { bytes: 1_000_000, range: 'bytes=-100' },
  'an object': { bytes: 1_000_000 },
  'a range of a large object': { bytes: 5_000_000, range: 'bytes=-100' },
};

const offloadedAndHidden = Object.entries(OFFLOADED).flatMap(([what, asked]) =>
  Object.entries(HIDE).map(([how, hide]) => [what, how, asked, hide] as const),
);
test.each(offloadedAndHidden)('%s that is %s while a copy of it is read', async (_what, how, asked, hide) => {
  const marker = newMarker(dice);
  const large = marker.padStart(asked.bytes, '.');
  const sha256 = sha256Of(large);
  const { node, hold } = await slowCopy({ large });
  const headers: Record<string, string> = asked.range === undefined ? {} : { Range: asked.range };
  const { isAnswered, letThrough } = hold();
  const asking = node.fetch(`/api/blobs/${sha256}`, { headers });
  await isAnswered;
  await hide(node, sha256);
  letThrough();
  const answer = await asking;
  expect(answer.status).toBe(how === 'withheld' ? 451 : 410);
  expect(await answer.text()).not.toContain(marker);
});
