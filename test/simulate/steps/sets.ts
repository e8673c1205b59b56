import { writeFile } from 'node:fs/promises';
import { WITHHELD_REASONS } from '../../../shared/node/withheld.ts';
import { codeOf, jsonOf, textOf } from '../client.ts';
import type { Dice } from '../dice.ts';
import { coveredBy } from '../invariants.ts';
import { newMarker } from '../markers.ts';
import { digestOf, type SetOfPacks } from '../model.ts';
import { PACK_BYTES, type World } from '../world.ts';
import { blobFile } from './copies.ts';
import { formOf, newRecord, notePack, publishNow } from './packs.ts';
import { newText, type StepKind } from './step.ts';
import { noteParts, settle } from './withholding.ts';

const withheldParts = ({ model }: World) =>
  [...model.withholdings.values()].filter(({ isOfSet }) => isOfSet === true);

/** Publishes a set of one file in parts, whose name is a word that only the list has, and withholds it. */
async function withheldSet(world: World, dice: Dice): Promise<{ set: SetOfPacks; name: string }> {
  const { node, model, require } = world;
  const name = newMarker(dice);
  const { bytes, marker } = newText(dice);
  const content = Buffer.concat([
    bytes,
    Buffer.alloc(dice.between(PACK_BYTES, 2 * PACK_BYTES), dice.letters(7)),
  ]);
  const id = await publishNow(world, newRecord(dice), [
    { path: `data/${name}.bin`, content, markers: [marker] },
  ]);
  const set = model.sets.find((each) => each.id === id);
  const list = model.bytes.get(set?.list ?? '');
  if (!set || !list) throw new TypeError('The model does not know the set that was just published.');
  list.markers = [name];
  const reason = dice.one(WITHHELD_REASONS);
  const answer = await node.asOwner('POST', '/manage/withheld', { json: { pack: id, reason } });
  require(answer, 201);
  const { ledger_entry: entry } = jsonOf<{ ledger_entry: number }>(answer);
  model.withholdings.set(entry, {
    entry,
    target: { pack: id },
    reason,
    covers: await coveredBy(node, entry),
  });
  await noteParts(world, id, reason);
  return { set, name };
}

/** Publishes a withheld list again as a visitor, who gets it by its digest only. */
async function sendAsVisitor(
  { node, require }: World,
  dice: Dice,
  { list, bytes }: { list: string; bytes: number },
) {
  const share = async (mode: string) =>
    require(await node.asOwner('PUT', '/manage/sharing', { json: { mode, require_invitation: false } }), 200);
  const files = [{ path: 'set.json', media_type: 'application/json', sha256: list, bytes }];
  await share('contribute');
  const sending = { json: { ...newRecord(dice), files }, mayFail: [500] };
  const answer = await node.asVisitor('/api/packs', sending, 'POST');
  await share('read');
  return answer;
}

/** Requires that no set with this part is known, as in an archive that was restored without the lists. */
async function requireUnknownSets({ node, model, check }: World, target: object): Promise<void> {
  const { pack = '' } = target as { pack?: string };
  for (const { id } of model.sets.filter(({ packs }) => packs.has(pack))) {
    const { status } = await node.asOwner('GET', `/api/packs/${id}/set`);
    check(status !== 200, `${pack} was withheld with the set ${id}, and is not withheld for itself.`);
  }
}

export const setSteps = {
  /** A part that is withheld after its set, as it is already, is withheld for itself. */
  withholdPartOfSet: {
    weight: 3,
    isPlain: true,
    can: (world) => withheldParts(world).length > 0,
    run: async (world, dice) => {
      const { node, model, require } = world;
      const { entry: replaced, target, reason } = dice.one(withheldParts(world));
      world.attempt = () => settle(world);
      const answer = await node.asOwner('POST', '/manage/withheld', { json: { ...target, reason } });
      require(answer, 200, 201);
      await settle(world);
      if (answer.status === 200) {
        await requireUnknownSets(world, target);
        return `${JSON.stringify(target)}, a part of no set that is known here`;
      }
      world.check(!model.withholdings.has(replaced), `The withholding ${replaced} was not replaced.`);
      return JSON.stringify(target);
    },
  },
  /** A piece of a file that is withheld or was released, as `strongroom publish` sends it: before the list of its set. */
  sendPieceOfHidden: {
    weight: 2,
    run: async (world, dice) => {
      const { node, model, check, require } = world;
      const { bytes, marker } = newText(dice);
      const content = Buffer.concat([bytes, Buffer.from(dice.letters(dice.between(20, 200)))]);
      const whole = { path: 'whole.txt', content, markers: [marker] };
      const piece = { ...whole, path: 'piece-00001', content: content.subarray(0, bytes.length + 10) };
      const [sha256, part] = [digestOf(content), digestOf(piece.content)];
      const sent = await node.asOwner('POST', '/api/packs', { body: formOf(newRecord(dice), [whole]) });
      require(sent, 201);
      notePack(world, sent, [whole]);
      const isReleased = dice.chance(0.3);
      const json = { sha256, reason: dice.one(WITHHELD_REASONS) };
      require(await node.asOwner('POST', `/manage/${isReleased ? 'released' : 'withheld'}`, { json }), 201);
      if (isReleased) model.hold(content, 'blob', [marker]).state = 'released';
      const address = `/api/packs?piece_of=${sha256}`;
      const added = await node.asOwner('POST', address, { body: formOf(newRecord(dice), [piece]) });
      if (isReleased) {
        check(codeOf(added) === 'released', () => `A piece of a released file was taken: ${textOf(added)}`);
        return `${part} of the released ${sha256}`;
      }
      require(added, 201);
      notePack(world, added, [piece]);
      model.joined.push([sha256, part]);
      await settle(world);
      check(model.isWithheld(part), `${part} is not withheld with ${sha256}, of which it is a piece.`);
      return `${part} of the withheld ${sha256}`;
    },
  },
  /** A visitor makes a set of a list that he may not read, while a part is damaged. */
  sendListAgain: {
    weight: 2,
    run: async (world, dice) => {
      const { node, model, check, require } = world;
      const { set, name } = await withheldSet(world, dice);
      const [digest = ''] = [...set.parts.values()].flat();
      const piece = model.bytes.get(digest);
      const list = model.bytes.get(set.list);
      if (!piece || !list) throw new TypeError('The model does not know the bytes of a set.');
      await writeFile(blobFile(world, digest), Buffer.alloc(piece.content.length));
      const answer = await sendAsVisitor(world, dice, { list: set.list, bytes: list.content.length });
      check(
        codeOf(answer) === 'blob_damaged' && !answer.body.includes(name),
        () => `A visitor sent a withheld list, and got this answer: ${textOf(answer)}`,
      );
      const files = [{ path: 'again.bin', content: piece.content, markers: piece.markers }];
      const again = await node.asOwner('POST', '/api/packs', { body: formOf(newRecord(dice), files) });
      require(again, 201);
      model.packs.push({
        id: jsonOf<{ id: string }>(again).id,
        files: [{ path: 'again.bin', sha256: digest }],
      });
      return set.id;
    },
  },
} satisfies Record<string, StepKind>;
