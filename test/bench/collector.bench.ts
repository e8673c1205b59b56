import { join } from 'node:path';
import type { CollectionResult } from '../../shared/collection/collection.ts';
import { systemClock } from '../../shared/values/clock.ts';
import { type Bench, type Measurement, median, percentile, scaled, timed } from './bench.ts';
import { load } from './support/loaded.ts';
import { type OwnerNode, startNode } from './support/ownerNode.ts';
import { type RunningWeb, startWeb } from './support/runningWeb.ts';
import { readDuring } from './support/steadyReaders.ts';
import { hasProgram, runWget, urlwatch } from './support/watchers.ts';

const SOURCES = scaled(5_000, 10);
const PAGE_BYTES = 6_000;
const REPETITIONS = scaled(3);
/** The interval at which the readers request each URL: 50 times a second. */
const READ_EVERY_MS = 20;
const READS_MS = scaled(5_000, 200);

/** No pauses between requests to the host, so that the collector is measured and not its politeness. */
const SETTINGS = { per_host_pause_ms: 0, per_host_concurrency: 32, collection_concurrency: 32 };

/** The duration of each pass in milliseconds. */
interface Passes {
  first: number[];
  second: number[];
}

/** Checks 5,000 sources on loopback, alternately with urlwatch and wget; then again while clients read. */
export const collector: Bench = {
  name: 'collector',
  async run(folder): Promise<Measurement[]> {
    const web = await startWeb(PAGE_BYTES);
    try {
      await tellLimit(web);
      return [...(await speeds(folder, web)), ...(await reads(folder, web)), await memory(folder, web)];
    } finally {
      await web.stop();
    }
  },
};

/** The capacity of the web server itself, which is far above all results. */
async function tellLimit({ url }: RunningWeb): Promise<void> {
  const { requestsPerSecond } = await load({ url: `${url}/limit`, connections: 8, seconds: 2 });
  console.log(
    `collector: the web itself answers ${Math.round(requestsPerSecond)} requests/s to a bare client`,
  );
}

async function speeds(folder: string, web: RunningWeb): Promise<Measurement[]> {
  const ours: Passes = { first: [], second: [] };
  const wget: number[] = [];
  for (let repetition = 0; repetition < REPETITIONS; repetition += 1) {
    const node = await watchingNode(join(folder, `node-${repetition}`), web);
    ours.first.push(await timed(() => round(node, { changed: SOURCES })));
    ours.second.push(await timed(() => round(node, { unchanged: SOURCES })));
    await node.stop();
    if (hasProgram('wget'))
      wget.push(await timed(() => runWget(join(folder, `wget-${repetition}`), urlsOf(web))));
  }
  const peer = await urlwatchPasses(join(folder, 'urlwatch'), web);
  return [
    speed('first pass, every object durable', 'wget --warc-file', { ours: ours.first, peer: wget, least: 1 }),
    speed('first pass, every object durable', 'urlwatch', { ours: ours.first, peer: peer.first, least: 2 }),
    speed('second pass, all 304', 'urlwatch', { ours: ours.second, peer: peer.second, least: 2 }),
  ].flat();
}

async function urlwatchPasses(folder: string, web: RunningWeb): Promise<Passes> {
  if (!hasProgram('urlwatch')) return { first: [], second: [] };
  const pass = await urlwatch(folder, urlsOf(web));
  return { first: [await timed(pass)], second: [await timed(pass)] };
}

interface Compared {
  ours: number[];
  /** Empty if the program is not installed. */
  peer: number[];
  /** The minimum ratio of the speeds. */
  least: number;
}

function speed(pass: string, program: string, { ours, peer, least }: Compared): Measurement[] {
  const what = `${SOURCES} sources of ${PAGE_BYTES / 1000} KB, ${pass}`;
  const figures = `${Math.round(median(ours))} ms (${ours.map((ms) => Math.round(ms)).join(', ')})`;
  if (peer.length === 0) {
    console.log(
      `collector: ${what}: ${figures}; ${program.split(' ')[0]} is not there to be measured against (apt-get install it).`,
    );
    return [];
  }
  const ratio = median(peer) / median(ours);
  return [
    {
      what,
      ours: figures,
      peer: `${program}: ${Math.round(median(peer))} ms (${peer.map((ms) => Math.round(ms)).join(', ')})`,
      ratio,
      target: `at least ${least} times the speed`,
      holds: ratio >= least,
    },
  ];
}

/** Measures response times during a first and a second round, and without a round. */
async function reads(folder: string, web: RunningWeb): Promise<Measurement[]> {
  const node = await watchingNode(join(folder, 'read'), web);
  const asked = ['/api/health', '/api/events'];
  const during = (work: () => Promise<unknown>) =>
    readDuring(
      asked.map((path) => `${node.url}${path}`),
      READ_EVERY_MS,
      work,
    );
  const first = await during(() => round(node, { changed: SOURCES }));
  const second = await during(() => round(node, { unchanged: SOURCES }));
  const quiet = await during(() => systemClock.sleep(READS_MS));
  await node.stop();
  const shown = (waits: number[]) =>
    `p99 ${percentile(waits, 0.99).toFixed(1)} ms, p50 ${percentile(waits, 0.5).toFixed(1)} ms`;
  return asked.map((path, index) => {
    const waits = [...(first[index] ?? []), ...(second[index] ?? [])];
    return {
      what: `${path} during two rounds of ${SOURCES} sources, ${waits.length} requests`,
      ours: shown(waits),
      peer: `with no round: ${shown(quiet[index] ?? [])}`,
      target: 'p99 within 50 ms',
      holds: percentile(waits, 0.99) < 50,
    };
  });
}

/** Measures how much an object of 100 MiB adds to the peak memory of a node. */
async function memory(folder: string, web: RunningWeb): Promise<Measurement> {
  const node = await startNode(join(folder, 'memory'));
  await set(node, { ...SETTINGS, max_object_mb: 110 });
  await watch(node, `${web.url}/small`);
  await round(node, { changed: 1 });
  const before = await node.resident();
  await watch(node, `${web.url}/large`);
  await round(node, { changed: 1, unchanged: 1 });
  const added = (await node.peakResident()) - before;
  await node.stop();
  return {
    what: 'peak memory added by an object of 100 MiB',
    ours: `${Math.round(added / 1e6)} MB`,
    target: 'less than 64 MB',
    holds: added < 64e6,
  };
}

function urlsOf({ url }: RunningWeb): string[] {
  return Array.from({ length: SOURCES }, (_, number) => `${url}/report-${number}`);
}

/** Starts a node that watches all sources and has checked none. */
async function watchingNode(dataFolder: string, web: RunningWeb): Promise<OwnerNode> {
  const node = await startNode(dataFolder);
  await set(node, SETTINGS);
  await send(node, 'POST', '/manage/sources/import', `${urlsOf(web).join('\n')}\n`, 'text/plain');
  return node;
}

async function set(node: OwnerNode, settings: object): Promise<void> {
  await ask(node, 'PATCH', '/manage/settings', settings);
}

async function watch(node: OwnerNode, url: string): Promise<void> {
  await ask(node, 'POST', '/manage/sources', { url });
}

/** Runs a round and requires this result. */
async function round(
  node: OwnerNode,
  { changed = 0, unchanged = 0 }: { changed?: number; unchanged?: number },
): Promise<void> {
  const result = (await ask(node, 'POST', '/manage/collections?wait=true', {})) as CollectionResult;
  if (result.changed !== changed || result.unchanged !== unchanged || result.failed > 0)
    throw new Error(`The round came to ${JSON.stringify({ ...result, events: result.events.length })}.`);
}

function ask(node: OwnerNode, method: string, path: string, body: object): Promise<unknown> {
  return send(node, method, path, JSON.stringify(body), 'application/json');
}

async function send(
  node: OwnerNode,
  method: string,
  path: string,
  body: string,
  type: string,
): Promise<unknown> {
  const answer = await fetch(`${node.url}${path}`, {
    method,
    body,
    headers: { ...node.headers, 'Content-Type': type },
  });
  if (!answer.ok) throw new Error(`${method} ${path} was refused: ${await answer.text()}`);
  return answer.json();
}
