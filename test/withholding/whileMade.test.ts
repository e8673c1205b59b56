import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { forkChild, type StartChild } from '../../server/runtime/child.ts';
import { type CollectingNode, openCollectingNode } from '../collection/support.ts';
import { addCopy, check, release, sync, withhold } from '../copies/withheldCopies.ts';
import { Dice } from '../simulate/dice.ts';
import { everythingIn, newMarker } from '../simulate/markers.ts';
import { filesOf, sampleRecord, sha256Of, uploadNewPack } from '../support/archive/packs.ts';
import { eventually } from '../support/eventually.ts';
import { closeScriptedWebs, page, ScriptedWeb } from '../support/network/scriptedWeb.ts';
import { closeTestNodes, DERIVING, openTestNode, type TestNode, temporaryFolder } from '../support/node.ts';
import { HTML, titled } from './quotes.ts';
import { builtInterface, textsFound } from './support.ts';

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

const described = ['croissant', 'frictionless'].flatMap((format) =>
  Object.entries(HIDE).map(([how, hide]) => [format, how, hide] as const),
);
const TABLES = { 'a.csv': newMarker(dice), 'b.csv': newMarker(dice) };
type Table = keyof typeof TABLES;

/** Describes two tables, and has one hidden while one is read. Returns which columns the answer names. */
async function describedTables(
  format: string,
  read: Table,
  hide?: (node: TestNode, digests: Record<Table, string>) => Promise<void>,
): Promise<boolean[]> {
  const csv = (name: Table) => `a,${TABLES[name]}\n1,2\n`;
  const files = { 'a.csv': csv('a.csv'), 'b.csv': csv('b.csv') };
  const digests = { 'a.csv': sha256Of(files['a.csv']), 'b.csv': sha256Of(files['b.csv']) };
  const { node, pack, hold } = await slowCopy(files);
  // What was read before it is held back is here from then on.
  if (read === 'b.csv') await (await node.fetch(`/api/blobs/${digests['a.csv']}`)).text();
  const { isAnswered, letThrough } = hold();
  const asking = node.fetch(`/api/items/${pack}/cite?format=${format}`);
  await isAnswered;
  await hide?.(node, digests);
  letThrough();
  const answer = await asking;
  expect(answer.status).toBe(200);
  const text = await answer.text();
  return Object.values(TABLES).map((marker) => text.includes(marker));
}

test.each(described)(
  'the columns of a table, as %s, that is %s while it is read',
  async (format, _how, hide) => {
    expect(await describedTables(format, 'a.csv')).toEqual([true, true]);
    const named = await describedTables(format, 'a.csv', (node, { 'a.csv': sha256 }) => hide(node, sha256));
    expect(named).toEqual([false, true]);
  },
);

test.each(described)(
  'the columns of a table, as %s, that is %s while another is read',
  async (format, _how, hide) => {
    const named = await describedTables(format, 'b.csv', (node, { 'a.csv': sha256 }) => hide(node, sha256));
    expect(named).toEqual([false, true]);
  },
);

/** Hits whose snippets take some time together. */
const HITS = 40;

test.each(Object.entries(HIDE))(
  'a hit of a search that is %s while snippets are made',
  async (_how, hide) => {
    const [node, marker] = [await openTestNode(DERIVING), newMarker(dice)];
    const filler = Array.from({ length: 20_000 }, (_, index) => `w${index.toString(36)}`).join(' ');
    const texts = Array.from({ length: HITS }, (_, index) => `${filler} x${index} common`);
    const hidden = `common ${marker}`;
    for (const [index, text] of [...texts, hidden].entries())
      await uploadNewPack(
        node,
        { title: `Pack ${index}`, files: filesOf({ 'a.txt': text }) },
        { 'a.txt': text },
      );
    await eventually(async () => expect(await textsFound(node, 'common')).toBe(HITS + 1));
    const search = async () => (await node.fetch('/api/search?q=common&limit=500')).text();
    expect(await search()).toContain(marker);
    let isAnswered = false;
    const asking = search().finally(() => (isAnswered = true));
    await hide(node, sha256Of(hidden));
    expect(isAnswered).toBe(false);
    const answer = await asking;
    expect(answer).not.toContain(marker);
    expect(JSON.parse(answer)).toMatchObject({ total: HITS, next: null });
  },
);
