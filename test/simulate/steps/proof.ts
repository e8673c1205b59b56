import { jsonOf } from '../client.ts';
import type { World } from '../world.ts';
import { peerOf } from './peers.ts';
import type { StepKind } from './step.ts';

const hasEntries = ({ model }: World) => model.packs.length + model.studies.length > 0;

export const proofSteps = {
  timestamp: {
    weight: 2,
    isPlain: true,
    can: hasEntries,
    run: async (world) => {
      const { node, model, require, check } = world;
      const { url } = await world.authority();
      const settings = { timestamp_authorities: [url] };
      require(await node.asOwner('PATCH', '/manage/settings', { json: settings }), 200);
      const answer = await node.asOwner('POST', '/manage/timestamps', { mayFail: [502] });
      require(answer, 200, 201);
      const { items, failed } = jsonOf<{ items: { id: number | string }[]; failed: unknown[] }>(answer);
      check(failed.length === 0, () => `The authority gave no timestamp: ${JSON.stringify(failed)}`);
      for (const { id } of items) {
        if (!model.timestamps.includes(String(id))) model.timestamps.push(String(id));
        model.keep(`/api/ledger/timestamps?limit=500`, { id }, { isItem: true });
      }
      return `${items.length} timestamps`;
    },
  },
  /** The peer cosigns the checkpoints of this node, and the checkpoint says so. */
  witness: {
    weight: 2,
    can: (world) => hasEntries(world) && world.isFirstLog,
    run: async (world) => {
      const { node, require, check } = world;
      const peer = await world.withPeer();
      // Each asks the other: a witness cosigns only the logs that its owner has named.
      const id = await peerOf(world, node, peer);
      await peerOf(world, peer, node);
      require(await node.asOwner('PATCH', `/manage/peers/${id}`, { json: { ask_to_cosign: true } }), 200);
      const answer = await node.asOwner('POST', '/manage/witnesses/submit');
      require(answer, 200);
      const { witnesses } = jsonOf<{ witnesses: { error: string | null }[] }>(answer);
      check(
        witnesses.some(({ error }) => error === null),
        () => `No witness cosigned: ${answer.body.toString()}`,
      );
      const checkpoint = (await node.asVisitor('/api/ledger/checkpoint')).body.toString();
      const name = (await peer.asVisitor('/witness/key')).body.toString().split('+')[0] ?? '';
      check(checkpoint.includes(`— ${name} `), `The checkpoint has no line of the witness ${name}.`);
      return name;
    },
  },
} satisfies Record<string, StepKind>;
