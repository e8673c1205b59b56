import { createHash, randomBytes } from 'node:crypto';
import { copyFile, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { blobPath } from '../../server/store/files.ts';
import { MEBIBYTE } from '../../shared/limits.ts';
import { type Bench, type Measurement, median, scaled } from './bench.ts';
import { type Loaded, load } from './support/loaded.ts';
import { hasNginx, startNginx } from './support/nginx.ts';
import { type OwnerNode, startNode } from './support/ownerNode.ts';
import { sendPack } from './support/sentPack.ts';

const REPETITIONS = scaled(5);
const SECONDS = 2;

interface Case {
  what: string;
  bytes: number;
  connections: number;
  figure: keyof Loaded;
  /** The target as a share of nginx's figure. */
  target: number;
}

const CASES: Case[] = [
  {
    what: 'blob of 20 MiB, 4 connections',
    bytes: 20 * MEBIBYTE,
    connections: 4,
    figure: 'bytesPerSecond',
    target: 0.7,
  },
  {
    what: 'blob of 16 KiB, 16 connections',
    bytes: 16_384,
    connections: 16,
    figure: 'requestsPerSecond',
    target: 0.15,
  },
];

/** Fetches blobs from a node and from nginx alternately, with the same client in its own process. */
export const blobs: Bench = {
  name: 'blobs',
  async run(folder): Promise<Measurement[]> {
    if (!hasNginx()) {
      console.log(
        'blobs: skipped, because nginx is not there to be measured against (apt-get install nginx-light).',
      );
      return [];
    }
    const served = join(folder, 'served');
    await mkdir(served);
    const node = await startNode(join(folder, 'data'));
    const nginx = await startNginx(join(folder, 'nginx'), served);
    try {
      const measured: Measurement[] = [];
      for (const each of CASES) {
        const sha256 = await archive(node, each.bytes);
        await copyFile(blobPath(join(folder, 'data'), sha256), join(served, sha256));
        measured.push(await compare(each, `${node.url}/api/blobs/${sha256}`, `${nginx.url}/${sha256}`));
      }
      return measured;
    } finally {
      await nginx.stop();
      await node.stop();
    }
  },
};

/** Adds a pack with one file of random bytes; returns the file's digest. */
async function archive(node: OwnerNode, bytes: number): Promise<string> {
  const content = randomBytes(bytes);
  await sendPack(node, { title: `${bytes} bytes`, content });
  return createHash('sha256').update(content).digest('hex');
}

async function compare(each: Case, oursUrl: string, peerUrl: string): Promise<Measurement> {
  const { connections, figure, target } = each;
  const ours: number[] = [];
  const peer: number[] = [];
  for (let repetition = 0; repetition < REPETITIONS; repetition += 1) {
    ours.push((await load({ url: oursUrl, connections, seconds: SECONDS }))[figure]);
    peer.push((await load({ url: peerUrl, connections, seconds: SECONDS }))[figure]);
  }
  const ratio = median(ours) / median(peer);
  const shown = (value: number) =>
    figure === 'bytesPerSecond' ? `${Math.round(value / 1e6)} MB/s` : `${Math.round(value)} requests/s`;
  return {
    what: each.what,
    ours: shown(median(ours)),
    peer: `nginx, one worker: ${shown(median(peer))}`,
    ratio,
    target: `at least ${target} times`,
    holds: ratio >= target,
  };
}
