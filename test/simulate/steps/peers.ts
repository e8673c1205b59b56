import type { Pack } from '../../../shared/archive/pack.ts';
import type { MirrorResult } from '../../../shared/node/peer.ts';
import { type Client, codeOf, jsonOf, textOf } from '../client.ts';
import type { Dice } from '../dice.ts';
import { coveredBy } from '../invariants.ts';
import { digestOf } from '../model.ts';
import type { World } from '../world.ts';
import { noteWithholdings } from './collection.ts';
import { formOf, newFiles, newRecord } from './packs.ts';
import type { StepKind } from './step.ts';
import { settle } from './withholding.ts';

/** Makes one node a peer of another one, unless it is already. Returns its id there. */
export async function peerOf(world: World, node: Client, other: Client): Promise<string> {
  const listed = jsonOf<{ items: { id: string; url: string }[] }>(await node.asOwner('GET', '/manage/peers'));
  const key = (await other.asVisitor('/api/ledger/key')).body.toString().trim();
  const known = (listed.items as { id: string; url: string; key: string }[]).find((peer) => peer.key === key);
  // Each start of a node is at another port.
  if (known) {
    if (known.url !== other.url)
      world.require(
        await node.asOwner('PATCH', `/manage/peers/${known.id}`, { json: { url: other.url } }),
        200,
      );
    return known.id;
  }
  for (const { id } of listed.items) await node.asOwner('DELETE', `/manage/peers/${id}`);
  const add = (more: object) => node.asOwner('POST', '/manage/peers', { json: { url: other.url, ...more } });
  let answer = await add({});
  // An archive that goes on with a new key is another log for who cosigned it.
  if (codeOf(answer) === 'key_mismatch') answer = await add({ cosign: false });
  world.require(answer, 201);
  return jsonOf<{ id: string }>(answer).id;
}

async function mirror(world: World, node: Client, id: string): Promise<MirrorResult> {
  const json = { packs: true, sources: true };
  const answer = await node.asOwner('POST', `/manage/peers/${id}/mirror?wait=true`, { json });
  world.require(answer, 200);
  return jsonOf<MirrorResult>(answer);
}

/** What a mirror brought or withheld must concern only what came from the peer. */
async function noteMirrored(world: World): Promise<void> {
  const { model, node, check } = world;
  for (const { files } of model.peerPacks)
    for (const { content, markers } of files) {
      const sha256 = digestOf(content);
      const read = await node.asOwner('GET', `/api/blobs/${sha256}`, { mayFail: [500, 503] });
      if (read.status !== 200 || model.bytes.get(sha256)?.state === 'released') continue;
      check(read.body.equals(content), `A mirror brought other bytes of ${sha256}.`);
      model.hold(content, 'blob', markers, true);
    }
  const answer = await node.asVisitor('/api/withheld?limit=500');
  const { items } = jsonOf<{ items: { ledger_entry: number }[] }>(answer);
  const inForce = new Set(items.map(({ ledger_entry }) => ledger_entry));
  const isTheirs = (sha256: string) => model.bytes.get(sha256)?.isTheirs ?? true;
  for (const entry of inForce) {
    if (model.withholdings.has(entry)) continue;
    for (const sha256 of await coveredBy(node, entry))
      check(isTheirs(sha256), `A mirror withheld ${sha256}, which this archive has from elsewhere.`);
  }
  for (const [entry, { covers }] of model.withholdings) {
    if (inForce.has(entry)) continue;
    check([...covers].every(isTheirs), `A mirror ended the withholding ${entry} of this archive.`);
    model.withholdings.delete(entry);
  }
  await noteWithholdings(world, node);
}

export const peerSteps = {
  peerPublishes: {
    weight: 3,
    run: async (world, dice) => {
      const peer = await world.withPeer();
      // Some of it may be what this archive has too.
      const known = dice.chance(0.3) ? dice.some(world.model.visible(), 1) : [];
      const files = [
        ...newFiles(dice),
        ...known.map(({ content, markers }) => ({ path: 'known.txt', content, markers })),
      ];
      const answer = await peer.asOwner('POST', '/api/packs', { body: formOf(newRecord(dice), files) });
      world.require(answer, 201);
      const { id } = jsonOf<Pack>(answer);
      world.model.peerPacks.push({ id, files });
      return id;
    },
  },
  peerWithholds: {
    weight: 2,
    can: ({ model }) => model.peerPacks.length > 0,
    run: async (world, dice) => {
      const peer = await world.withPeer();
      const { files } = dice.one(world.model.peerPacks);
      const sha256 = digestOf(dice.one(files).content);
      const json = { sha256, reason: 'copyright' };
      if (dice.chance(0.4)) {
        world.require(await peer.asOwner('DELETE', '/manage/withheld', { json }), 200, 404);
        return `shows ${sha256}`;
      }
      world.require(await peer.asOwner('POST', '/manage/withheld', { json }), 200, 201, 422);
      return `withholds ${sha256}`;
    },
  },
  mirrorPeer: {
    weight: 3,
    can: ({ model }) => model.peerPacks.length > 0,
    run: async (world) => {
      const peer = await world.withPeer();
      const result = await mirror(world, world.node, await peerOf(world, world.node, peer));
      await noteMirrored(world);
      return `${result.packs} packs, ${result.objects} objects, refused ${JSON.stringify(result.refused)}`;
    },
  },
  /** The network to the peer is lost. */
  mirrorLostPeer: {
    weight: 1,
    can: ({ model, peer }) => peer !== undefined && model.peerPacks.length > 0,
    run: async (world) => {
      const id = await peerOf(world, world.node, await world.withPeer());
      await world.losePeer();
      const json = { packs: true, sources: true };
      const path = `/manage/peers/${id}/mirror?wait=true`;
      const answer = await world.node.asOwner('POST', path, { json, mayFail: [502, 503] });
      world.require(answer, 502, 503);
      await noteMirrored(world);
      return textOf(answer).slice(0, 150);
    },
  },
  /** The owner takes or leaves what the peer withholds and this archive has otherwise. */
  decideProposals: {
    weight: 2,
    can: ({ model, peer }) => peer !== undefined && model.peerPacks.length > 0,
    run: async (world, dice) => {
      const { node, require } = world;
      const id = await peerOf(world, node, await world.withPeer());
      const listed = await node.asOwner('GET', `/manage/peers/${id}/proposals`);
      require(listed, 200);
      const { items } = jsonOf<{ items: { number: number }[] }>(listed);
      for (const { number } of items) {
        const json = { decision: dice.one(['take', 'leave']) };
        require(await node.asOwner('POST', `/manage/peers/${id}/proposals/${number}`, {
          json,
        }), 200, 410, 422);
      }
      // The owner has chosen, so this is the standing from here on.
      await settle(world);
      return `${items.length} proposals`;
    },
  },
  mirroredByPeer: {
    weight: 3,
    can: ({ model }) => model.packs.length > 0,
    run: async (world, dice) => {
      const peer = await world.withPeer();
      const { model } = world;
      const result = await mirror(world, peer, await peerOf(world, peer, world.node));
      for (const { sha256 } of model.visible()) model.givenAway.add(sha256);
      await requireNothingHidden(world, peer, dice);
      return `${result.packs} packs, ${result.objects} objects, refused ${JSON.stringify(result.refused)}`;
    },
  },
} satisfies Record<string, StepKind>;

/** What was hidden at every mirror is not at the peer, whose owner reads everything there. */
async function requireNothingHidden({ model, check }: World, peer: Client, dice: Dice): Promise<void> {
  const own = new Set(model.peerPacks.flatMap(({ files }) => files.map(({ content }) => digestOf(content))));
  const hidden = [...model.bytes.values()].filter(
    ({ sha256, state }) => state !== 'gone' && !model.givenAway.has(sha256) && !own.has(sha256),
  );
  for (const { sha256, kind } of dice.some(hidden, 10)) {
    const read = await peer.asOwner('GET', `${kind === 'blob' ? '/api/blobs' : '/archive'}/${sha256}`);
    check(read.status !== 200, `The peer got ${sha256}, which visitors may not read.`);
  }
}
