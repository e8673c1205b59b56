import type { Pack } from '../../../shared/archive/pack.ts';
import type { ConsistencyProof } from '../../../shared/ledger/ledger.ts';
import { LyingPeer } from '../../support/network/lyingPeer.ts';
import { type Client, codeOf, jsonOf, textOf } from '../client.ts';
import type { Dice } from '../dice.ts';
import { digestOf } from '../model.ts';
import type { World } from '../world.ts';
import { formOf, newFiles, newRecord } from './packs.ts';
import { mirror, noteMirrored, peerOf } from './peers.ts';
import type { StepKind } from './step.ts';

/* Somebody on the network between this node and its peer, without a key, alters what the peer answers. */

/** A consistency proof with a root of another tree, and without its hashes. */
const withoutHashes = (body: Buffer): Buffer => {
  const proof = JSON.parse(body.toString()) as ConsistencyProof;
  return Buffer.from(
    JSON.stringify({ ...proof, from_root: Buffer.alloc(32, 1).toString('base64'), hashes: [] }),
  );
};

/** The peer publishes a pack. Returns the digest of a file that no other pack has. */
async function publishThere({ model, require }: World, peer: Client, dice: Dice): Promise<string> {
  const files = newFiles(dice);
  const answer = await peer.asOwner('POST', '/api/packs', { body: formOf(newRecord(dice), files) });
  require(answer, 201);
  model.peerPacks.push({ ...jsonOf<Pack>(answer), files });
  const [own] = files.filter(({ markers }) => markers.length > 0);
  return digestOf((own ?? files[0])?.content ?? Buffer.alloc(0));
}

/** Lets this node reach its peer through somebody else. */
async function through(
  { node, require }: World,
  id: string,
  peer: Client,
  use: (wire: LyingPeer) => Promise<void>,
): Promise<void> {
  const wire = await LyingPeer.open(peer.url);
  try {
    require(await node.asOwner('PATCH', `/manage/peers/${id}`, { json: { url: wire.url } }), 200);
    await use(wire);
  } finally {
    wire.close();
  }
  require(await node.asOwner('PATCH', `/manage/peers/${id}`, { json: { url: peer.url } }), 200);
}

export const wireSteps = {
  /** An old checkpoint of the peer is replayed, or a proof altered. The next contact succeeds. */
  spoilPeer: {
    weight: 1,
    can: ({ model }) => model.peerPacks.length > 0,
    run: async (world, dice) => {
      const { node, check } = world;
      const peer = await world.withPeer();
      const id = await peerOf(world, node, peer);
      const older = (await peer.asVisitor('/api/ledger/checkpoint')).body;
      await publishThere(world, peer, dice);
      await mirror(world, node, id);
      await publishThere(world, peer, dice);
      await through(world, id, peer, async (wire) => {
        if (dice.chance(0.5)) wire.lie(/ledger\/checkpoint/, () => older);
        else wire.lie(/ledger\/consistency/, withoutHashes);
        const json = { packs: true, sources: true };
        const path = `/manage/peers/${id}/mirror?wait=true`;
        const answer = await node.asOwner('POST', path, { json, mayFail: [502] });
        check(codeOf(answer) === 'peer_failed', () => `An old answer was taken: ${textOf(answer)}`);
      });
      await mirror(world, node, id);
      await noteMirrored(world);
      return 'followed afterwards';
    },
  },
  /**
   * The list of what a withholding of the peer covers is altered: one more digest is in it, and at times its bytes do not come.
   * After the next mirror, visitors may read here what they may read there.
   */
  alterWithheldList: {
    weight: 1,
    can: ({ model }) => model.peerPacks.length > 0,
    run: async (world, dice) => {
      const { node, require, check } = world;
      const peer = await world.withPeer();
      const id = await peerOf(world, node, peer);
      const [hidden, other] = [await publishThere(world, peer, dice), await publishThere(world, peer, dice)];
      await mirror(world, node, id);
      await noteMirrored(world);
      const json = { sha256: hidden, reason: 'owner' };
      require(await peer.asOwner('POST', '/manage/withheld', { json }), 201);
      const isHeldBack = dice.chance(0.5);
      await through(world, id, peer, async (wire) => {
        wire.lie(/^\/api\/withheld\/objects/, (body) => {
          const list = JSON.parse(body.toString()) as { items: object[] };
          return Buffer.from(JSON.stringify({ ...list, items: [...list.items, { sha256: other }] }));
        });
        if (isHeldBack) wire.lie(new RegExp(other), (_body, response) => void response.writeHead(451).end());
        await mirror(world, node, id);
      });
      await mirror(world, node, id);
      await noteMirrored(world);
      const there = await peer.asVisitor(`/api/blobs/${other}`);
      const here = await node.asVisitor(`/api/blobs/${other}`);
      check(here.status === there.status, () => `${other}: ${there.status} there, ${here.status} here.`);
      return isHeldBack ? 'its bytes were held back' : 'its bytes came';
    },
  },
} satisfies Record<string, StepKind>;
