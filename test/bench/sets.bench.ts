import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ReadableStream } from 'node:stream/web';
import { connectToNode } from '../../server/cli/node/withNode.ts';
import { publishFolder } from '../../server/cli/publishing/publishFolder.ts';
import type { Pack } from '../../shared/archive/pack.ts';
import { sampleRecord } from '../support/archive/packs.ts';
import { type Bench, type Measurement, scaled, timed } from './bench.ts';
import { type OwnerNode, startNode } from './support/ownerNode.ts';
import { sendPack } from './support/sentPack.ts';

const FILE_BYTES = scaled(40_000_000, 100_000);
const FILES = scaled(8, 2);
const BYTES = FILES * FILE_BYTES;
const TARGET = 0.8;

/** Programs that check a ZIP. */
const READERS: Record<string, string[]> = {
  unzip: ['-tq'],
  python3: ['-m', 'zipfile', '-t'],
  '7z': ['t'],
  bsdtar: ['-tf'],
};

/** A set against single packs of the same bytes, and its ZIP in the hands of other programs. */
export const sets: Bench = {
  name: 'sets',
  async run(folder): Promise<Measurement[]> {
    const source = join(folder, 'source');
    await mkdir(source, { recursive: true });
    const contents = Array.from({ length: FILES }, () => randomBytes(FILE_BYTES));
    for (const [index, content] of contents.entries()) await writeFile(join(source, `${index}.bin`), content);
    const single = await startNode(join(folder, 'single'));
    const joined = await startNode(join(folder, 'joined'));
    try {
      const packs = await timed(async () => {
        for (const [index, content] of contents.entries())
          await sendPack(single, { title: `Single ${index}`, content });
      });
      let set = '';
      const published = await timed(async () => {
        set = await publish(source, join(folder, 'joined'));
      });
      const sent = await timed(async () => {
        for (const { id } of await packsOf(single)) await drain(single, `/api/packs/${id}/file`);
      });
      const downloaded = await timed(() => drain(joined, `/api/packs/${set}/set/download`));
      return [
        compared('publishing a folder as a set, against uploads of single packs', published, packs),
        compared('the first download of a set, against those of the packs', downloaded, sent),
        await readBy(joined, set, join(folder, 'set.zip')),
      ];
    } finally {
      await single.stop();
      await joined.stop();
    }
  },
};

async function publish(folder: string, data: string): Promise<string> {
  const { pack } = await publishFolder(await connectToNode({ data }), {
    folder,
    except: new Set(),
    record: sampleRecord(),
    notes: join(data, 'publishing'),
    // As many parts as there are single packs.
    partBytes: FILE_BYTES,
    found: () => undefined,
    read: () => undefined,
    isSet: () => undefined,
    changed: () => undefined,
  });
  return pack;
}

async function packsOf(node: OwnerNode): Promise<Pack[]> {
  return ((await (await fetch(`${node.url}/api/packs`)).json()) as { items: Pack[] }).items;
}

async function drain(node: OwnerNode, path: string): Promise<void> {
  const answer = await fetch(`${node.url}${path}`);
  if (!answer.ok) throw new Error(await answer.text());
  for await (const _ of answer.body as AsyncIterable<Uint8Array>);
}

function compared(what: string, ours: number, peer: number): Measurement {
  const rate = (milliseconds: number) => `${Math.round(BYTES / 1000 / milliseconds)} MB/s`;
  return {
    what: `${what}, ${FILES} times ${FILE_BYTES / 1_000_000} MB`,
    ours: rate(ours),
    peer: rate(peer),
    ratio: peer / ours,
    target: `at least ${TARGET} times`,
    holds: peer / ours >= TARGET,
  };
}

/** Has every program that is installed check the ZIP. */
async function readBy(node: OwnerNode, set: string, file: string): Promise<Measurement> {
  const answer = await fetch(`${node.url}/api/packs/${set}/set/download`);
  await pipeline(Readable.fromWeb(answer.body as ReadableStream<Uint8Array>), createWriteStream(file));
  const results = Object.entries(READERS).map(([program, args]) => {
    const { status, error } = spawnSync(program, [...args, file], { stdio: 'ignore' });
    return { program, result: error ? 'not installed' : status === 0 ? 'reads it' : 'refuses it' };
  });
  return {
    what: 'the ZIP of the set in other programs',
    ours: results.map(({ program, result }) => `${program} ${result}`).join(', '),
    target: 'read by all that are installed',
    holds: results.every(({ result }) => result !== 'refuses it'),
  };
}
