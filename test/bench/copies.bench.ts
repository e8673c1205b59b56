import { randomBytes } from 'node:crypto';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { GetObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { MEBIBYTE } from '../../shared/limits.ts';
import { runCommand } from '../support/cli.ts';
import { installObjectStore, type ObjectStore, openObjectStore } from '../support/network/objectStore.ts';
import { type Bench, type Measurement, median, scaled, timed } from './bench.ts';
import { addCopy, ask, fillObjects, syncCopy } from './support/copyNode.ts';
import { copyWithCp, copyWithRclone, missingPrograms, resticAt } from './support/copyPeers.ts';
import { startCountingProxy } from './support/countingProxy.ts';
import { fillLedger } from './support/filledLedger.ts';
import { load } from './support/loaded.ts';
import { startNginx } from './support/nginx.ts';
import { type OwnerNode, startNode } from './support/ownerNode.ts';

/** A multiple of 100. */
const OBJECTS = scaled(40) * 100;
const OBJECT_BYTES = 524_288;
const RECORDS = scaled(1_000_000, 100);
const LARGE_BYTES = 20 * MEBIBYTE;
const BUCKET = 'bench';
/** As many as a copy in a bucket sends at once. */
const TRANSFERS = 16;
const ROUNDS = scaled(3);
const READS = scaled(15);

/** The first copy, the next one, the restore and the reads of a copy. Every peer runs in the same round. */
export const copies: Bench = {
  name: 'copies',
  async run(folder): Promise<Measurement[]> {
    const missing = missingPrograms(['restic', 'rclone', 'nginx']);
    if (missing.length > 0 || !installObjectStore()) {
      console.log(`copies: skipped. Install ${[...missing, 'swift'].join(', ')} to be measured against.`);
      return [];
    }
    const data = join(folder, 'data');
    const node = await startNode(data);
    const store = await openObjectStore();
    try {
      await store.createBucket(BUCKET);
      await fillObjects(node, { objects: OBJECTS, bytes: OBJECT_BYTES });
      return [
        ...(await firstCopies(folder, node)),
        await toStore(folder, node, store),
        await restores(folder),
        await staticReads(folder),
        await readThrough(join(folder, 'large'), store),
        ...(await nothingNew(join(folder, 'records'), store)),
      ];
    } finally {
      await store.close();
      await node.stop();
    }
  },
};

const size = `${((OBJECTS * OBJECT_BYTES) / 1e9).toFixed(2)} GB in ${OBJECTS} objects`;
const seconds = (ms: number) => `${(ms / 1000).toFixed(2)} s`;

/** Leaves `copy-<last>` and the restic repository of the last round for the restore. */
async function firstCopies(folder: string, node: OwnerNode): Promise<Measurement[]> {
  const [ours, restic, cp]: [number[], number[], number[]] = [[], [], []];
  const blobs = join(folder, 'data', 'blobs');
  for (let round = 1; round <= ROUNDS; round += 1) {
    const isLast = round === ROUNDS;
    const place = join(folder, isLast ? 'copy' : `copy-${round}`);
    const repository = join(folder, isLast ? 'restic' : `restic-${round}`);
    const id = await addCopy(node, place);
    ours.push(await timed(() => syncCopy(node, id)));
    const peer = resticAt(repository);
    await peer.create();
    restic.push(await timed(() => peer.backup(blobs)));
    const copied = join(folder, `cp-${round}`);
    cp.push(await timed(() => copyWithCp(blobs, copied)));
    await rm(copied, { recursive: true });
    if (isLast) continue;
    await fetch(`${node.url}/manage/copies/${id}`, { method: 'DELETE', headers: node.headers });
    await rm(place, { recursive: true });
    await rm(repository, { recursive: true });
  }
  const [toRestic, toCp] = [median(ours) / median(restic), median(ours) / median(cp)];
  const what = `first copy of ${size} to a folder`;
  return [
    {
      what,
      ours: seconds(median(ours)),
      peer: `restic backup: ${seconds(median(restic))}`,
      ratio: toRestic,
      target: 'less than 1 times',
      holds: toRestic < 1,
    },
    {
      what,
      ours: seconds(median(ours)),
      peer: `cp -r and sync: ${seconds(median(cp))}`,
      ratio: toCp,
      target: 'at most 1.5 times',
      holds: toCp <= 1.5,
    },
  ];
}

async function toStore(folder: string, node: OwnerNode, store: ObjectStore): Promise<Measurement> {
  const id = await addCopy(node, `${BUCKET}/ours`, store);
  const ours = await timed(() => syncCopy(node, id));
  const peer = await timed(() =>
    copyWithRclone(join(folder, 'data', 'blobs'), `${BUCKET}/rclone`, store, TRANSFERS),
  );
  return {
    what: `first copy of ${size} to an object store on loopback, ${TRANSFERS} at once`,
    ours: seconds(ours),
    peer: `rclone copy: ${seconds(peer)}`,
    ratio: peer / ours,
    target: 'at least 1 times',
    holds: peer >= ours,
  };
}

async function restores(folder: string): Promise<Measurement> {
  const [ours, peer]: [number[], number[]] = [[], []];
  for (let round = 1; round <= ROUNDS; round += 1) {
    const [mine, theirs] = [join(folder, 'restored'), join(folder, 'restored-by-restic')];
    ours.push(
      await timed(async () => {
        const { code, stderr } = await runCommand(['restore', join(folder, 'copy'), '--data', mine]);
        if (code !== 0) throw new Error(stderr);
      }),
    );
    peer.push(await timed(() => resticAt(join(folder, 'restic')).restore(theirs)));
    await rm(mine, { recursive: true });
    await rm(theirs, { recursive: true });
  }
  const ratio = median(peer) / median(ours);
  return {
    what: `restore of ${size}`,
    ours: seconds(median(ours)),
    peer: `restic restore: ${seconds(median(peer))}`,
    ratio,
    target: 'at least 1 times',
    holds: ratio >= 1,
  };
}

/** A copy is served as plain files, so this shows that its layout costs nothing. */
async function staticReads(folder: string): Promise<Measurement> {
  const [copied, bare] = [join(folder, 'copy'), join(folder, 'bare')];
  await copyWithCp(join(folder, 'data', 'blobs'), bare);
  const name = (await readdir(join(copied, 'archive'))).find((each) => !each.endsWith('.json')) ?? '';
  const path = `${name.slice(0, 2)}/${name.slice(2, 4)}/${name}`;
  const ours = await startNginx(join(folder, 'nginx-copy'), copied);
  const peer = await startNginx(join(folder, 'nginx-bare'), bare);
  try {
    const rates: [number[], number[]] = [[], []];
    const rate = async (url: string) =>
      (await load({ url, connections: TRANSFERS, seconds: 2 })).requestsPerSecond;
    for (let round = 0; round < ROUNDS; round += 1) {
      rates[0].push(await rate(`${ours.url}/archive/${name}`));
      rates[1].push(await rate(`${peer.url}/${path}`));
    }
    const ratio = median(rates[0]) / median(rates[1]);
    return {
      what: 'static reads of archive/<sha256> by nginx',
      ours: `${Math.round(median(rates[0]))} requests/s`,
      peer: `nginx on bare files: ${Math.round(median(rates[1]))} requests/s`,
      ratio,
      target: 'the same, 0.9 times or more',
      holds: ratio >= 0.9,
    };
  } finally {
    await ours.stop();
    await peer.stop();
  }
}

async function readThrough(folder: string, store: ObjectStore): Promise<Measurement> {
  const node = await startNode(folder);
  try {
    await fillObjects(node, { objects: 1, bytes: LARGE_BYTES });
    const id = await addCopy(node, `${BUCKET}/large`, store);
    await syncCopy(node, id);
    await ask(node, 'POST', `/manage/copies/${id}/check?wait=true`, {});
    await ask(node, 'PATCH', '/manage/settings', { offload_after_days: 0 });
    await ask(node, 'POST', '/manage/offload?wait=true');
    const { items } = await ask<{ items: { id: string }[] }>(node, 'GET', '/api/packs');
    const pack = await ask<{ files: { sha256: string }[] }>(node, 'GET', `/api/packs/${items[0]?.id}`);
    const sha256 = pack.files[0]?.sha256 ?? '';
    const client = new S3Client({
      endpoint: store.endpoint,
      region: store.region,
      credentials: { accessKeyId: store.access_key, secretAccessKey: store.secret_key },
      forcePathStyle: true,
    });
    const [ours, peer]: [number[], number[]] = [[], []];
    for (let read = 0; read < READS; read += 1) {
      ours.push(await timed(() => firstByteOf(`${node.url}/api/blobs/${sha256}`)));
      peer.push(
        await timed(async () => {
          const command = new GetObjectCommand({ Bucket: BUCKET, Key: `large/archive/${sha256}` });
          const stream = (await client.send(command)).Body as NodeJS.ReadableStream & AsyncIterable<Buffer>;
          for await (const _first of stream) break;
        }),
      );
    }
    client.destroy();
    const ratio = median(ours) / median(peer);
    return {
      what: 'first byte of an offloaded object of 20 MiB',
      ours: `${median(ours).toFixed(1)} ms`,
      peer: `the same GET straight from the store: ${median(peer).toFixed(1)} ms`,
      ratio,
      target: 'at most 1.3 times',
      holds: ratio <= 1.3,
    };
  } finally {
    await node.stop();
  }
}

async function firstByteOf(url: string): Promise<void> {
  const answer = await fetch(url);
  const reader = answer.body?.getReader();
  if (!answer.ok || (await reader?.read())?.value === undefined) throw new Error(`${url}: ${answer.status}`);
  await reader?.cancel();
}

async function nothingNew(folder: string, store: ObjectStore): Promise<Measurement[]> {
  await fillLedger(folder, RECORDS);
  const node = await startNode(folder);
  const proxy = await startCountingProxy(store.endpoint);
  try {
    const id = await addCopy(node, `${BUCKET}/${randomBytes(4).toString('hex')}`, {
      ...store,
      endpoint: proxy.url,
    });
    await syncCopy(node, id);
    proxy.take();
    const ms = await timed(() => syncCopy(node, id));
    const requests = proxy.take();
    const what = `a sync with nothing new at ${RECORDS} records`;
    return [
      { what, ours: `${Math.round(ms)} ms`, target: 'under 1 s', holds: ms < 1_000 },
      { what, ours: `${requests} requests`, target: 'under 20', holds: requests < 20 },
    ];
  } finally {
    proxy.stop();
    await node.stop();
  }
}
