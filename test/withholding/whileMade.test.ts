import { afterEach, expect, test } from 'vitest';
import { forkChild, type StartChild } from '../../server/runtime/child.ts';
import { type CollectingNode, openCollectingNode } from '../collection/support.ts';
import { release, withhold } from '../copies/withheldCopies.ts';
import { Dice } from '../simulate/dice.ts';
import { everythingIn, newMarker } from '../simulate/markers.ts';
import { sampleRecord, sha256Of, uploadNewPack } from '../support/archive/packs.ts';
import { closeScriptedWebs, page, ScriptedWeb } from '../support/network/scriptedWeb.ts';
import { closeTestNodes } from '../support/node.ts';
import { HTML, titled } from './quotes.ts';
import { builtInterface } from './support.ts';

/* An answer that takes long to make says nothing of bytes that were withheld while it was made. */

afterEach(async () => {
  await closeTestNodes();
  await closeScriptedWebs();
});

const dice = new Dice(2_030);

/** A node whose process that reads documents has its answers held back from some time on. */
async function slowNode(): Promise<{
  node: CollectingNode;
  hold: () => { isAnswered: Promise<void>; letThrough: () => void };
}> {
  let held: { answered: () => void; through: Promise<void> } | undefined;
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
  const hold = () => {
    const [answered, through] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    held = { answered: answered.resolve, through: through.promise };
    return { isAnswered: answered.promise, letThrough: through.resolve };
  };
  return { node, hold };
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
