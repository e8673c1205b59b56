import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { type Client, jsonOf, textOf } from './client.ts';
import type { Dice } from './dice.ts';
import { finderOf, markersInFolder } from './markers.ts';
import type { Held, Kept } from './model.ts';
import { readCheckpoint, requireConsistent } from './proofs.ts';
import { visit } from './visitor.ts';
import type { World } from './world.ts';

/** How much of the archive is looked at: a sample during a run, and all of it at its end. */
export interface Breadth {
  bytes: number;
  records: number;
  ids: number;
}
export const SAMPLE: Breadth = { bytes: 12, records: 12, ids: 2 };
export const MOST: Breadth = { bytes: 200, records: 200, ids: 5 };

/** Requires everything that must hold of the node at any moment. */
export async function requireAll(
  world: World,
  dice: Dice,
  breadth: Breadth,
  node = world.node,
): Promise<void> {
  const { model, figures } = world;
  await requireLedger(world, node);
  await noteReleasedForAge(world, node);
  for (const held of dice.some([...model.bytes.values()], breadth.bytes))
    await requireBytes(world, node, held, dice);
  // A descendant has no drafts.
  const records = node === world.node ? model.kept : model.kept.filter(({ isLocal }) => !isLocal);
  for (const kept of dice.some(records, breadth.records)) await requireRecord(world, node, kept);
  await requireStanding(world, node);
  figures.assertions += await visit(node, model, dice, breadth.ids);
}

async function requireLedger(world: World, node: Client): Promise<void> {
  const { model } = world;
  const verified = await node.asVisitor('/api/ledger/verify');
  const { ok } = jsonOf<{ ok: boolean }>(verified);
  world.check(ok, () => `The ledger does not verify: ${textOf(verified)}`);
  for (const kept of model.checkpoints) {
    await requireConsistent(node, kept);
    world.figures.assertions += 1;
  }
  // A descendant goes its own way.
  if (node !== world.node) return;
  const checkpoint = await readCheckpoint(node).catch(() => undefined);
  if (checkpoint && model.checkpoints.at(-1)?.size !== checkpoint.size) model.checkpoints.push(checkpoint);
  // The first ones stay: what was kept longest ago says most.
  if (model.checkpoints.length > 6) model.checkpoints.splice(3, 1);
}

const PATHS = { blob: '/api/blobs/', object: '/archive/' } as const;

/** Requires that bytes are there, equal, for those who may read them. */
async function requireBytes(world: World, node: Client, held: Held, dice: Dice): Promise<void> {
  const { model } = world;
  const path = PATHS[held.kind] + held.sha256;
  const mayFail = [500, 503];
  const [asVisitor, asOwner] = [
    await node.asVisitor(path, { mayFail }),
    await node.asOwner('GET', path, { mayFail }),
  ];
  const said = () =>
    `${path} (${held.state}${model.isWithheld(held.sha256) ? ', withheld' : ''}): visitors get ${asVisitor.status}, the owner ${asOwner.status}. ${standing} ${JSON.stringify(held.content.toString('latin1', 0, 150))}`;
  const standing = textOf(await node.asOwner('GET', `/api/withheld/state?sha256=${held.sha256}`));
  if (held.state === 'released') {
    world.check(asVisitor.status === 410 && asOwner.status === 410, said);
    return;
  }
  if (held.state === 'gone') {
    // Whoever brings the same bytes again repairs them.
    world.check(asOwner.status !== 200 || asOwner.body.equals(held.content), said);
    if (node === world.node && asOwner.status === 200) held.state = 'held';
    if (held.state === 'gone') return;
  }
  const isWithheld = model.isWithheld(held.sha256);
  world.check(asVisitor.status === (isWithheld ? 451 : 200), said);
  world.check(asOwner.status === 200 && asOwner.body.equals(held.content), said);
  if (!isWithheld) world.check(asVisitor.body.equals(held.content), said);
  if (held.content.length > 1) await requireRange(world, node, path, held, isWithheld, dice);
}

/** The same for the node as it is. */
export const requireBytesOf = (world: World, held: Held, dice: Dice) =>
  requireBytes(world, world.node, held, dice);

async function requireRange(
  world: World,
  node: Client,
  path: string,
  { content }: Held,
  isWithheld: boolean,
  dice: Dice,
): Promise<void> {
  const from = dice.int(content.length);
  const to = from + dice.int(content.length - from);
  const answer = await node.asVisitor(path, { headers: { Range: `bytes=${from}-${to}` } });
  const isRight = isWithheld
    ? answer.status === 451
    : answer.status === 206 && answer.body.equals(content.subarray(from, to + 1));
  world.check(isRight, () => `The bytes ${from} to ${to} of ${path} are wrong: ${answer.status}.`);
}

/** Requires that a record says what was acknowledged. */
async function requireRecord(
  world: World,
  node: Client,
  { path, has, isItem, isPrivate }: Kept,
): Promise<void> {
  const answer = isPrivate ? await node.asOwner('GET', path) : await node.asVisitor(path);
  world.check(
    answer.status === 200,
    () => `${path} was acknowledged, and is now ${answer.status}: ${textOf(answer)}`,
  );
  const body = jsonOf<object>(answer);
  const isThere = isItem
    ? (body as { items: object[] }).items.some((item) => contains(item, has))
    : contains(body, has);
  world.check(isThere, () => `${path} does not have ${JSON.stringify(has)}: ${textOf(answer)}`);
}

/** Whether a value has all that another one has. */
export function contains(value: unknown, part: unknown): boolean {
  if (typeof part !== 'object' || part === null) return value === part;
  if (typeof value !== 'object' || value === null) return false;
  if (Array.isArray(part) && (!Array.isArray(value) || value.length !== part.length)) return false;
  return Object.entries(part).every(([name, each]) =>
    contains((value as Record<string, unknown>)[name], each),
  );
}

interface Withheld {
  ledger_entry: number;
  objects: number;
}

/** Requires that what is withheld and released is what the model says, and covers no less. */
async function requireStanding(world: World, node: Client): Promise<void> {
  const { model } = world;
  const { items } = jsonOf<{ items: Withheld[] }>(await node.asVisitor('/api/withheld?limit=500'));
  const listed = new Map(items.map((item) => [item.ledger_entry, item]));
  for (const { entry, target, covers } of model.withholdings.values()) {
    const found = listed.get(entry);
    world.check(found !== undefined, () => `The withholding ${entry} of ${JSON.stringify(target)} is gone.`);
    const covered = await coveredBy(node, entry);
    // Bytes that were given up are no longer withheld.
    const missing = [...covers].filter(
      (sha256) => !covered.has(sha256) && model.bytes.get(sha256)?.state !== 'released',
    );
    world.check(missing.length === 0, () => `The withholding ${entry} no longer covers ${missing.join()}.`);
  }
  const extra = items.filter(({ ledger_entry }) => !model.withholdings.has(ledger_entry));
  world.check(extra.length === 0, () => `Nobody withheld ${JSON.stringify(extra)}.`);
  const { items: released } = jsonOf<{ items: { sha256: string }[] }>(
    await node.asVisitor('/api/released?limit=500'),
  );
  const known = [...model.bytes.values()]
    .filter(({ state }) => state === 'released')
    .map(({ sha256 }) => sha256);
  const there = new Set(released.map(({ sha256 }) => sha256));
  world.check(
    known.every((sha256) => there.has(sha256)) && there.size === known.length,
    () => `Released are ${[...there].join()}, not ${known.join()}.`,
  );
}

/** Notes what was given up by its age, which the node decides. */
export async function noteReleasedForAge({ model }: World, node: Client): Promise<void> {
  const answer = await node.asVisitor('/api/released?limit=500');
  for (const { sha256, reason } of jsonOf<{ items: { sha256: string; reason: string }[] }>(answer).items) {
    if (reason !== 'age') continue;
    const held = model.bytes.get(sha256);
    if (held) held.state = 'released';
    else
      model.bytes.set(sha256, {
        sha256,
        content: Buffer.alloc(0),
        markers: [],
        isTheirs: false,
        kind: 'object',
        state: 'released',
      });
  }
}

/** Returns the digests that a withholding covers. */
export async function coveredBy(node: Client, entry: number): Promise<Set<string>> {
  const answer = await node.asVisitor(`/api/withheld/objects?withholding=${entry}&limit=500`);
  return new Set(jsonOf<{ items: { sha256: string }[] }>(answer).items.map(({ sha256 }) => sha256));
}

/** What a node does in the background is done within this time. */
const BACKGROUND_MS = 20_000;

/** Stops the node, and requires that nothing released is on its disk, and that nothing is left half done. */
export async function requireDisk(world: World): Promise<void> {
  const { model } = world;
  const released = model.released();
  const isDatabaseClean = released.size > 0 && (await untilCleaned(world));
  await world.stop();
  const isSearched = (path: string) => isDatabaseClean || !path.includes('strongroom.db');
  const found = await markersInFolder(world.data, released, { isSearched });
  world.check(found.length === 0, () => `The data folder has the released ${JSON.stringify(found)}.`);
  const left = await readdir(join(world.data, 'tmp')).catch(() => []);
  await world.start();
  world.check(left.length === 0, () => `Files are left in tmp: ${left.join()}.`);
}

/** Asks again until something holds that a node does in the background. Returns whether it does in time. */
export async function comesTrue(holds: () => Promise<boolean>): Promise<boolean> {
  for (let waited = 0; waited < BACKGROUND_MS; waited += 20) {
    if (await holds()) return true;
    await pause(20);
  }
  return false;
}

/** Waits until the node says that it has overwritten what was derived of released bytes. */
async function untilCleaned({ node }: World): Promise<boolean> {
  let cleaning: boolean | undefined;
  await comesTrue(async () => {
    ({ cleaning } = jsonOf<{ cleaning?: boolean }>(await node.asOwner('GET', '/manage/storage')));
    return cleaning !== true;
  });
  return cleaning === false;
}

/** Requires that no log has words of the archive, and no alert what was hidden before the step in which it came. */
export function requireMessages({ model, messages, check }: World): void {
  const logged = finderOf([...model.bytes.values()].flatMap(({ markers }) => markers));
  for (const message of messages)
    check(logged(message).length === 0, `The log quotes the archive: ${message}`);
  const hidden = model.hidden();
  const find = finderOf(hidden);
  for (const { body, moment } of model.messages) {
    const seen = find(body).filter((marker) => (model.hiddenSince.get(marker) ?? Infinity) <= moment);
    check(
      seen.length === 0,
      () => `An alert said ${seen.join()}, which was hidden before: ${body.slice(0, 800)}`,
    );
  }
}

/** Requires that a copy which readers may open has nothing that was hidden before its last sync. */
export async function requirePublicCopies(world: World): Promise<void> {
  const { model } = world;
  for (const copy of model.copies) {
    if (!copy.pages || copy.place === undefined || !copy.isSynced) continue;
    const hidden = [...model.hidden()].filter(
      (marker) => (model.hiddenSince.get(marker) ?? 0) <= copy.syncedAt,
    );
    const isEncrypted = existsSync(join(copy.place, 'withheld'));
    world.check(!isEncrypted, 'The public copy has something withheld, encrypted.');
    const found = await markersInFolder(copy.place, hidden);
    world.check(found.length === 0, () => `The public copy shows ${JSON.stringify(found)}.`);
  }
}
