import { WITHHELD_REASONS } from '../../../shared/node/withheld.ts';
import { codeOf, jsonOf } from '../client.ts';
import type { Dice } from '../dice.ts';
import { coveredBy } from '../invariants.ts';
import type { Held, Model, Withholding } from '../model.ts';
import type { World } from '../world.ts';
import { noteWithholdings, targetOf } from './collection.ts';
import type { StepKind } from './step.ts';

/** Something that can be withheld: an object, a retrieval, a pack or a page capture. */
function newTarget({ model }: World, dice: Dice): object | undefined {
  const held = [...model.bytes.values()].filter(({ state }) => state === 'held');
  const targets: (object | undefined)[] = [
    { sha256: dice.pick(held)?.sha256 },
    { sha256: dice.pick(held.filter(({ kind }) => kind === 'object'))?.sha256 },
    { sha256: dice.pick(model.events.map(({ sha256 }) => sha256).filter((sha256) => sha256 !== null)) },
    { retrieval: dice.pick(model.retrievals) },
    { pack: dice.pick(model.packs)?.id },
    { page: dice.pick(model.pages)?.id },
  ].filter((target) => Object.values(target).every((value) => value !== undefined));
  return dice.pick(targets);
}

const sameTarget = (left: object, right: object) => JSON.stringify(left) === JSON.stringify(right);

/** What was asked for may have been recorded, although it was not answered. */
export async function settle(world: World): Promise<void> {
  const { model } = world;
  const answer = await world.node.asVisitor('/api/withheld?limit=500');
  const { items } = jsonOf<{ items: { ledger_entry: number }[] }>(answer);
  const inForce = new Set(items.map(({ ledger_entry }) => ledger_entry));
  for (const entry of model.withholdings.keys()) if (!inForce.has(entry)) model.withholdings.delete(entry);
  await noteWithholdings(world, world.node);
}

const partsOf = ({ model }: World, pack: string | undefined) =>
  model.sets.find(({ id }) => id === pack)?.packs;
const isSet = (world: World, target: object) =>
  partsOf(world, (target as { pack?: string }).pack) !== undefined;

/** With a set, the packs that hold its parts are withheld, each by an entry of its own. */
export async function noteParts(world: World, pack: string, reason: string): Promise<void> {
  const { model } = world;
  const parts = partsOf(world, pack);
  if (!parts) return;
  const known = new Set(model.withholdings.keys());
  await settle(world);
  for (const withholding of model.withholdings.values()) {
    const { entry, target, reason: given } = withholding;
    if (known.has(entry)) continue;
    withholding.isOfSet = true;
    const part = (target as { pack?: string }).pack ?? '';
    world.check(
      parts.has(part) && given === reason,
      `The withholding ${entry} came with that of the set ${pack}.`,
    );
  }
}

/** A file that a set has in parts is given up with them. */
function noteReleased(model: Model, held: Held): void {
  held.state = 'released';
  for (const { files, parts } of model.sets)
    for (const [path, content] of files) {
      if (!content.equals(held.content)) continue;
      for (const sha256 of parts.get(path) ?? []) {
        const part = model.bytes.get(sha256);
        if (part) part.state = 'released';
      }
    }
  for (const [whole, sha256] of model.joined) {
    const part = whole === held.sha256 ? model.bytes.get(sha256) : undefined;
    if (part) part.state = 'released';
  }
}

/** Requires that these are still in force. */
function requireInForce({ model, check }: World, withholdings: readonly Withholding[], after: string): void {
  const ended = withholdings.filter(({ entry }) => !model.withholdings.has(entry));
  check(
    ended.length === 0,
    () => `After ${after}, ${JSON.stringify(ended.map(({ target }) => target))} is shown.`,
  );
}

/** With the list of a set, what was withheld together is withheld by itself. */
async function noteWithheldApart(world: World, list: string): Promise<void> {
  const { model, node } = world;
  if (!model.sets.some((set) => set.list === list) && !model.peerLists.has(list)) return;
  const known = [...model.withholdings.values()];
  const covered = new Set(known.flatMap(({ covers }) => [...covers]));
  await noteWithholdings(world, node);
  for (const withholding of known) withholding.covers = await coveredBy(node, withholding.entry);
  const isOpen = (sha256: string) => !model.isWithheld(sha256) && model.bytes.get(sha256)?.state === 'held';
  const open = [...covered].filter(isOpen);
  world.check(open.length === 0, `${open.join()} is no longer withheld without the list ${list}.`);
}

export const withholdingSteps = {
  withhold: {
    weight: 7,
    isPlain: true,
    can: ({ model }) => model.bytes.size > 0,
    run: async (world, dice) => {
      const { node, model } = world;
      const target = newTarget(world, dice);
      if (!target) return 'nothing to withhold';
      const reason = dice.one(WITHHELD_REASONS);
      world.attempt = () => settle(world);
      const answer = await node.asOwner('POST', '/manage/withheld', { json: { ...target, reason } });
      if (['released', 'unknown_target'].includes(codeOf(answer) ?? ''))
        return `${JSON.stringify(target)}: refused`;
      world.require(answer, 200, 201);
      const { ledger_entry: entry } = jsonOf<{ ledger_entry: number }>(answer);
      // Another reason replaces the first.
      const covers = await coveredBy(node, entry);
      for (const [known, earlier] of model.withholdings) {
        if (known === entry || !sameTarget(earlier.target, target)) continue;
        model.withholdings.delete(known);
        const uncovered = [...earlier.covers].filter(
          (sha256) => !covers.has(sha256) && model.bytes.get(sha256)?.state !== 'released',
        );
        world.check(
          uncovered.length === 0,
          `With another reason, ${uncovered.join()} is no longer withheld.`,
        );
      }
      const named = (target as { sha256?: string }).sha256;
      if (named) world.check(covers.has(named), `The withholding ${entry} does not cover ${named}.`);
      const pack = model.packs.find(({ id }) => id === (target as { pack?: string }).pack);
      for (const { path, sha256 } of pack?.files ?? [])
        world.check(
          covers.has(sha256) || model.bytes.get(sha256)?.state === 'released',
          `The withholding of ${pack?.id} does not cover its file ${path}.`,
        );
      model.withholdings.set(entry, { entry, target, reason, covers });
      if (pack) await noteParts(world, pack.id, reason);
      return `${JSON.stringify(target)}, ${covers.size} objects`;
    },
  },
  show: {
    weight: 4,
    isPlain: true,
    can: ({ model }) => model.withholdings.size > 0,
    run: async (world, dice) => {
      const { node, model, require } = world;
      const { entry, target } = dice.one([...model.withholdings.values()]);
      world.attempt = () => settle(world);
      require(await node.asOwner('DELETE', '/manage/withheld', { json: targetOf(target) }), 200);
      for (const sha256 of model.withholdings.get(entry)?.covers ?? []) model.shownByOwner.add(sha256);
      model.withholdings.delete(entry);
      if (!isSet(world, target)) return JSON.stringify(target);
      const own = [...model.withholdings.values()].filter(({ isOfSet }) => !isOfSet);
      await settle(world);
      requireInForce(world, own, `the set ${JSON.stringify(target)} was shown`);
      return JSON.stringify(target);
    },
  },
  showUnwithheld: {
    weight: 2,
    isPlain: true,
    can: ({ model }) => model.sets.length > 0,
    run: async (world, dice) => {
      const { node, model, require } = world;
      const target = { pack: dice.one(model.sets).id };
      const before = [...model.withholdings.values()];
      if (before.some((withholding) => sameTarget(withholding.target, target))) return 'it is withheld';
      world.attempt = () => settle(world);
      require(await node.asOwner('DELETE', '/manage/withheld', { json: target }), 404);
      await settle(world);
      requireInForce(world, before, `the set ${target.pack} was not shown`);
      return target.pack;
    },
  },
  release: {
    weight: 3,
    isPlain: true,
    can: ({ model }) => [...model.bytes.values()].some(({ state }) => state !== 'released'),
    run: async (world, dice) => {
      const { node, model, require } = world;
      // Also what is damaged: what is left of it must not stay.
      const held = dice.one([...model.bytes.values()].filter(({ state }) => state !== 'released'));
      const { sha256 } = held;
      world.attempt = async () => {
        if (
          (await world.node.asOwner('GET', `/api/withheld/state?sha256=${sha256}`)).body.includes(
            '"released":{',
          )
        )
          noteReleased(model, held);
      };
      require(await node.asOwner('GET', `/manage/released/preview?sha256=${sha256}`), 200);
      const json = { sha256, reason: dice.one(WITHHELD_REASONS), note: 'Asked for.' };
      require(await node.asOwner('POST', '/manage/released', { json }), 200, 201);
      noteReleased(model, held);
      await noteWithheldApart(world, sha256);
      return sha256;
    },
  },
} satisfies Record<string, StepKind>;
