import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { Agent, request as httpRequest } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import Database from 'better-sqlite3';
import { type Bench, type Measurement, median, scaled, timed } from './bench.ts';
import { type OwnerNode, startNode } from './support/ownerNode.ts';
import { PACK_BODY_TYPE, packBody } from './support/sentPack.ts';

const LARGE_BYTES = scaled(40_000_000, 100_000);
const REPETITIONS = scaled(7);
const MAX_BYTES = scaled(50_000_000, 100_000);
const SMALL_BYTES = 20_000;
const CLIENTS = 8;
const SMALL_PACKS = scaled(500, 10);
const ROWS = scaled(1_000, 10);

/** Uploads packs; each is durable when the response is sent. */
export const upload: Bench = {
  name: 'upload',
  async run(folder): Promise<Measurement[]> {
    return [await large(folder), await small(folder), await memory(folder)];
  },
};

/** Uploads one large pack, alternately with shell commands that hash, copy and sync the same bytes. */
async function large(folder: string): Promise<Measurement> {
  const node = await startNode(join(folder, 'large'));
  const agent = new Agent({ keepAlive: true });
  const ours: number[] = [];
  const peer: number[] = [];
  // The first run of each is a warm-up and is not counted.
  for (let repetition = 0; repetition <= REPETITIONS; repetition += 1) {
    const content = randomBytes(LARGE_BYTES);
    const body = packBody(`Large ${repetition}`, content);
    const file = join(folder, `large-${repetition}`);
    await writeFile(file, content);
    run('sync', file);
    ours.push(await timed(() => post(node, agent, body)));
    peer.push(
      await timed(() => {
        run('openssl', 'dgst', '-sha256', file);
        run('cp', file, `${file}.copy`);
        run('sync', `${file}.copy`);
      }),
    );
  }
  agent.destroy();
  await node.stop();
  const [ourTime, peerTime] = [median(ours.slice(1)), median(peer.slice(1))];
  return {
    what: `a pack of ${LARGE_BYTES / 1e6} MB uploaded, ${REPETITIONS} times`,
    ours: `${Math.round(ourTime)} ms`,
    peer: `openssl dgst -sha256, cp and sync of the same bytes: ${Math.round(peerTime)} ms`,
    ratio: ourTime / peerTime,
    target: 'at most 1.5 times',
    holds: ourTime / peerTime <= 1.5,
  };
}

/**
 * Uploads many small packs concurrently, alternately with durable single-row writes on the same disk. The clients are in
 * this process, the node in another. The first run of each is a warm-up and is not counted.
 */
async function small(folder: string): Promise<Measurement> {
  const node = await startNode(join(folder, 'small'));
  const database = new Database(join(folder, 'peer.db'));
  database.pragma('journal_mode = WAL');
  database.pragma('synchronous = FULL');
  database.exec('CREATE TABLE rows (id INTEGER PRIMARY KEY, value TEXT NOT NULL)');
  const ours: number[] = [];
  const peer: number[] = [];
  let [nodeTime, clientTime] = [0, 0];
  for (let repetition = 0; repetition <= REPETITIONS; repetition += 1) {
    const [nodeBefore, clientBefore] = [await node.cpuTime(), process.cpuUsage()];
    ours.push(await packsPerSecond(node, repetition));
    if (repetition > 0) {
      const { user, system } = process.cpuUsage(clientBefore);
      nodeTime += (await node.cpuTime()) - nodeBefore;
      clientTime += (user + system) / 1000;
    }
    peer.push(await rowsPerSecond(database));
  }
  database.close();
  await node.stop();
  const [ourRate, peerRate] = [median(ours.slice(1)), median(peer.slice(1))];
  const perPack = (time: number) => (time / (REPETITIONS * SMALL_PACKS)).toFixed(2);
  return {
    what: `packs of ${SMALL_BYTES / 1_000} KB from ${CLIENTS} clients in another process, each durable before the response, ${REPETITIONS} times ${SMALL_PACKS} after a warm-up`,
    ours: `${Math.round(ourRate)} packs/s (processor time a pack: node ${perPack(nodeTime)} ms, clients ${perPack(clientTime)} ms)`,
    peer: `SQLite, synchronous=FULL, a row a transaction: ${Math.round(peerRate)}/s`,
    ratio: ourRate / peerRate,
    target: 'at least 0.1 times',
    holds: ourRate / peerRate >= 0.1,
  };
}

async function packsPerSecond(node: OwnerNode, repetition: number): Promise<number> {
  const bodies = Array.from({ length: SMALL_PACKS }, (_, index) =>
    packBody(`Small ${repetition} ${index}`, randomBytes(SMALL_BYTES)),
  );
  const agent = new Agent({ keepAlive: true });
  let next = 0;
  const took = await timed(() =>
    Promise.all(
      Array.from({ length: CLIENTS }, async () => {
        for (let body = bodies[next++]; body; body = bodies[next++]) await post(node, agent, body);
      }),
    ),
  );
  agent.destroy();
  return bodies.length / (took / 1000);
}

async function rowsPerSecond(database: Database.Database): Promise<number> {
  const insert = database.prepare('INSERT INTO rows (value) VALUES (?)');
  const took = await timed(() => {
    for (let row = 0; row < ROWS; row += 1) insert.run('x'.repeat(100));
  });
  return ROWS / (took / 1000);
}

/** Measures how much an upload of the largest pack adds to the peak memory of a node. */
async function memory(folder: string): Promise<Measurement> {
  const node = await startNode(join(folder, 'memory'));
  const agent = new Agent({ keepAlive: true });
  await post(node, agent, packBody('A first one', randomBytes(SMALL_BYTES)));
  const before = await node.resident();
  await post(node, agent, packBody('The largest', randomBytes(MAX_BYTES)));
  const added = (await node.peakResident()) - before;
  agent.destroy();
  await node.stop();
  return {
    what: `peak memory added by an upload of ${MAX_BYTES / 1e6} MB`,
    ours: `${Math.round(added / 1e6)} MB`,
    target: 'less than 96 MB',
    holds: added < 96e6,
  };
}

/** Uploads a pack and requires that it is accepted as new. */
function post(node: OwnerNode, agent: Agent, body: Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(`${node.url}/api/packs`, {
      method: 'POST',
      agent,
      headers: { ...node.headers, 'Content-Type': PACK_BODY_TYPE, 'Content-Length': body.length },
    });
    request.on('error', reject);
    request.on('response', (response) => {
      text(response).then((answer) => {
        if (response.statusCode === 201) resolve();
        else reject(new Error(`The pack was refused: ${answer}`));
      }, reject);
    });
    request.end(body);
  });
}

function run(command: string, ...args: string[]): void {
  const { status, error } = spawnSync(command, args, { stdio: 'ignore' });
  if (error) throw error;
  if (status !== 0) throw new Error(`${command} ended with ${status}.`);
}
