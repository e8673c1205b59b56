import { join } from 'node:path';
import Database from 'better-sqlite3';
import { databaseFile } from '../../server/store/files.ts';
import { type Bench, type Measurement, median, scaled, timed } from './bench.ts';
import { fillLedger } from './support/filledLedger.ts';
import { type OwnerNode, startNode } from './support/ownerNode.ts';

/** Each node is a record in the dump, and so is its ledger entry. */
const NODES = scaled(500_000, 100);
const REPETITIONS = scaled(3);

/** Downloads the dump of an archive with a million records. The peer reads the same rows with the same library. */
export const dump: Bench = {
  name: 'dump',
  async run(folder): Promise<Measurement[]> {
    const dataFolder = join(folder, 'data');
    await fillLedger(dataFolder, NODES);
    const node = await startNode(dataFolder);
    const before = await node.resident();
    const ours: number[] = [];
    const peer: number[] = [];
    let bytes = 0;
    for (let repetition = 0; repetition < REPETITIONS; repetition += 1) {
      ours.push(
        await timed(async () => {
          bytes = await read(node);
        }),
      );
      peer.push(await timed(() => readRows(databaseFile(dataFolder))));
    }
    const grown = (await node.peakResident()) - before;
    await node.stop();
    const ratio = median(ours) / median(peer);
    return [
      {
        what: `${2 * NODES} records dumped, ${Math.round(bytes / 1e6)} MB`,
        ours: `${Math.round(median(ours))} ms`,
        peer: `reading the same rows with better-sqlite3: ${Math.round(median(peer))} ms`,
        ratio,
        target: 'at most 3 times',
        holds: ratio <= 3,
      },
      {
        what: `peak memory added by ${REPETITIONS} dumps`,
        ours: `${Math.round(grown / 1e6)} MB`,
        target: 'less than 64 MB',
        holds: grown < 64e6,
      },
    ];
  },
};

/** Downloads a dump and discards it; returns its size in bytes. */
async function read(node: OwnerNode): Promise<number> {
  const answer = await fetch(`${node.url}/api/dump.jsonl`);
  if (!answer.ok || !answer.body) throw new Error(`The dump was refused: ${answer.status}`);
  let bytes = 0;
  let last = new Uint8Array();
  for await (const chunk of answer.body as AsyncIterable<Uint8Array<ArrayBuffer>>) {
    bytes += chunk.length;
    last = chunk;
  }
  if (!Buffer.from(last).toString().includes('{"kind":"trailer"')) throw new Error('The dump was cut short.');
  return bytes;
}

/** Reads the rows of the dump one by one. */
function readRows(file: string): void {
  const database = new Database(file, { readonly: true });
  for (const table of ['ledger', 'nodes']) {
    for (const _row of database.prepare(`SELECT * FROM ${table}`).iterate());
  }
  database.close();
}
