import { Agent, request as httpRequest } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { MirrorResult, Peer } from '../../shared/node/peer.ts';
import { type Bench, type Measurement, median, scaled, timed } from './bench.ts';
import { type OwnerNode, startNode } from './support/ownerNode.ts';
import { PACK_BODY_TYPE, packBody } from './support/sentPack.ts';

const PACKS = scaled(2_000, 20);
const BYTES = 20_000;
const CLIENTS = 8;
const FOLLOW_UPS = scaled(7);
const FOLLOW_UP_MS = 200;

/** Mirrors packs, each with an object of its own, from a node on loopback; a comparison uploads the same packs. */
export const mirror: Bench = {
  name: 'mirror',
  async run(folder): Promise<Measurement[]> {
    const peer = await startNode(join(folder, 'peer'));
    const node = await startNode(join(folder, 'node'));
    const agent = new Agent({ keepAlive: true, maxSockets: CLIENTS });
    try {
      const bodies = Array.from({ length: PACKS }, (_, index) =>
        packBody(`Pack ${index}`, Buffer.alloc(BYTES, `${index}.`)),
      );
      const uploading = await timed(() => uploadAll(peer, agent, bodies));
      const { id } = await send<Peer>(node, agent, '/manage/peers', { url: peer.url });
      const take = () =>
        send<MirrorResult>(node, agent, `/manage/peers/${id}/mirror?wait=true`, { packs: true });
      let taken: MirrorResult | undefined;
      const mirroring = await timed(async () => (taken = await take()));
      if (taken?.packs !== PACKS || taken.objects !== PACKS)
        throw new Error(`Not everything was mirrored: ${JSON.stringify(taken)}`);
      const followUps: number[] = [];
      for (let time = 0; time < FOLLOW_UPS; time += 1) followUps.push(await timed(take));
      return [
        {
          what: `${PACKS} packs and ${PACKS} objects mirrored`,
          ours: `${Math.round(mirroring)} ms`,
          peer: `uploading the same packs with ${CLIENTS} clients: ${Math.round(uploading)} ms`,
          ratio: mirroring / uploading,
          target: 'at least as fast',
          holds: mirroring <= uploading,
        },
        {
          what: 'a follow-up with nothing new',
          ours: `p50 ${median(followUps).toFixed(1)} ms`,
          target: `within ${FOLLOW_UP_MS} ms`,
          holds: median(followUps) <= FOLLOW_UP_MS,
        },
      ];
    } finally {
      agent.destroy();
      await node.stop();
      await peer.stop();
    }
  },
};

async function uploadAll(node: OwnerNode, agent: Agent, bodies: readonly Buffer[]): Promise<void> {
  const waiting = bodies.values();
  const client = async () => {
    for (const body of waiting) await post(node, agent, '/api/packs', body, PACK_BODY_TYPE);
  };
  await Promise.all(Array.from({ length: CLIENTS }, client));
}

async function send<Result>(node: OwnerNode, agent: Agent, path: string, body: unknown): Promise<Result> {
  return JSON.parse(
    await post(node, agent, path, Buffer.from(JSON.stringify(body)), 'application/json'),
  ) as Result;
}

function post(node: OwnerNode, agent: Agent, path: string, body: Buffer, type: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const headers = { ...node.headers, 'Content-Type': type, 'Content-Length': body.length };
    const request = httpRequest(`${node.url}${path}`, { agent, method: 'POST', headers }, (response) => {
      text(response).then((answer) => {
        if ((response.statusCode ?? 500) < 300) resolve(answer);
        else reject(new Error(`${path} answered ${response.statusCode}: ${answer}`));
      }, reject);
    });
    request.on('error', reject);
    request.end(body);
  });
}
