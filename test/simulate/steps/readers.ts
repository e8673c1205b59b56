import { rm, writeFile } from 'node:fs/promises';
import { request } from 'node:https';
import { buffer } from 'node:stream/consumers';
import { Violation } from '../client.ts';
import { MOST, requireBytesOf } from '../invariants.ts';
import { finderOf } from '../markers.ts';
import { streamedTo } from '../visitor.ts';
import type { StepKind } from './step.ts';

/** Reads an address over HTTPS, whatever the certificate is. */
function overTls(url: URL): Promise<{ status: number; body: Buffer }> {
  return new Promise((resolve, reject) => {
    request(url, { rejectUnauthorized: false }, (response) => {
      buffer(response).then((body) => resolve({ status: response.statusCode ?? 0, body }), reject);
    })
      .on('error', reject)
      .end();
  });
}

export const readerSteps = {
  streamEvents: {
    weight: 2,
    can: ({ model }) => model.events.length > 0,
    run: async (world) => {
      const { model, check } = world;
      const text = await streamedTo((address, init) => fetch(new URL(address, world.node.url), init));
      const ids = [...text.matchAll(/^id: (\d+)$/gm)].map(([, id]) => Number(id));
      check(
        ids.every((id, index) => index === 0 || id > (ids[index - 1] ?? 0)),
        () => `The stream sent the events ${ids.join()}.`,
      );
      const missing = model.events.filter(({ id }) => !ids.includes(id));
      check(missing.length === 0, () => `The stream left out ${missing.map(({ id }) => id).join()}.`);
      const seen = finderOf(model.hidden())(text);
      check(seen.length === 0, () => `The stream shows ${seen.join()}.`);
      return `${ids.length} events`;
    },
  },
  tls: {
    weight: 1,
    run: async (world) => {
      const { node, require, check } = world;
      const answer = await node.asOwner('PATCH', '/manage/settings', { json: { tls: true } });
      if (answer.status === 409) return 'its port is taken';
      require(answer, 200);
      const { url } = world.tls() ?? {};
      if (url === undefined) throw new Violation('A node with TLS has no address for it.');
      const read = await overTls(new URL('/api/packs?limit=500', url));
      const plain = await node.asVisitor('/api/packs?limit=500');
      check(
        read.status === 200 && read.body.equals(plain.body),
        `Over TLS, packs are answered with ${read.status}.`,
      );
      require(await node.asOwner('PATCH', '/manage/settings', { json: { tls: false } }), 200);
      return url;
    },
  },
  /** What leaves the node is verified without it. */
  verifyFiles: {
    weight: 4,
    can: ({ model }) => model.packs.length + model.events.length > 0,
    run: async (world, dice) => {
      const { model, node } = world;
      const addresses = [
        ...dice.some(model.packs, 2).map(({ id }) => [`/api/packs/${id}/file`, 'pack.zip']),
        ...dice.some(model.packs, 1).map(({ id }) => [`/api/packs/${id}/evidence`, 'evidence.html']),
        ...dice.some(model.events, 1).map(({ id }) => [`/api/events/${id}/evidence`, 'evidence.html']),
        ...dice.some(model.findings, 1).map(({ id }) => [`/api/findings/${id}/evidence`, 'evidence.html']),
        ...dice.some(model.cases, 1).map(({ id }) => [`/api/cases/${id}/bag`, 'zip']),
      ] as [string, string][];
      const done: string[] = [];
      for (const [address, ending] of addresses) {
        const answer = await node.asVisitor(address, { mayFail: [500, 503] });
        done.push(`${address} ${answer.status}`);
        if (answer.status !== 200) continue;
        const file = `${world.place('left')}.${ending}`;
        await writeFile(file, answer.body);
        const { code, output } = await world.command(['verify', file]);
        const isComplete = [...model.bytes.values()].every(({ state }) => state !== 'gone');
        world.check(code === 0 || !isComplete, () => `${address} does not verify: ${output.slice(0, 800)}`);
        await rm(file);
      }
      return done.join(', ');
    },
  },
  /** Reads everything at once, as many visitors do. */
  readAll: {
    weight: 1,
    can: ({ model }) => model.bytes.size > 0,
    run: async (world, dice) => {
      const chosen = dice.some([...world.model.bytes.values()], MOST.bytes);
      await Promise.all(chosen.map((held) => requireBytesOf(world, held, dice)));
      return `${chosen.length} objects`;
    },
  },
} satisfies Record<string, StepKind>;
