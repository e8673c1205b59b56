import { spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createReadStream, mkdtempSync, rmSync } from 'node:fs';
import { mkdir, open, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { PublishedFolder } from '../../server/cli/publishing/publishFolder.ts';
import { BUILT_SERVER, buildIfStale } from '../../server/launch/build.ts';
import { compareByUtf8 } from '../../shared/archive/filePath.ts';
import { planSet } from '../../shared/archive/setManifest.ts';
import { sampleRecord } from '../support/archive/packs.ts';
import { end, type ServedNode, serveBuiltNode } from '../support/cli.ts';

/** `STRONGROOM_SET_TRIAL_GB=20 STRONGROOM_SET_TRIAL_FILES=30000` is the promise. */
const GIGABYTES = Number(process.env.STRONGROOM_SET_TRIAL_GB ?? 1);
const FILES = Number(process.env.STRONGROOM_SET_TRIAL_FILES ?? 3_000);
const BYTES = GIGABYTES * 1_000_000_000;
const COMMAND_MEMORY_BYTES = 200_000_000;
/**
 * A bound against growth with the bytes of a set. A node that does nothing has 125 MB. V8 keeps up to 134 MB for new
 * objects, and the list of the files takes memory while it is checked.
 */
const NODE_MEMORY_BYTES = 400_000_000 + 7_000 * FILES;
const KILLS = [0.2, 0.45, 0.7];

/** Writes a folder in which no two pieces are alike: one file has a quarter of the bytes. */
async function writeFolder(folder: string): Promise<{ path: string; bytes: number }[]> {
  const block = randomBytes(1_048_576);
  let stamp = 0;
  const write = async (path: string, bytes: number) => {
    const handle = await open(join(folder, path), 'w');
    for (let left = bytes; left > 0; left -= block.length) {
      block.writeUInt32LE((stamp += 1), 0);
      await handle.write(block, 0, Math.min(left, block.length));
    }
    await handle.close();
    return { path, bytes };
  };
  const files = [await write('large.bin', Math.floor(BYTES / 4))];
  const each = Math.floor((BYTES * 0.75) / (FILES - 1));
  for (let index = 1; index < FILES; index += 1) {
    const subfolder = `measurements-${String(index % 300).padStart(3, '0')}`;
    if (index <= 300) await mkdir(join(folder, subfolder), { recursive: true });
    // From a tenth to nearly twice the average.
    const bytes = Math.floor(each * (0.1 + (1.8 * ((index * 7919) % 1000)) / 1000));
    files.push(await write(`${subfolder}/${String(index).padStart(6, '0')}.dat`, bytes));
  }
  return files.sort((left, right) => compareByUtf8(left.path, right.path));
}

/** The largest resident memory of a process so far, in bytes. */
async function peakMemory(pid: number): Promise<number> {
  const kilobytes = /VmHWM:\s+(\d+) kB/.exec(await readFile(`/proc/${pid}/status`, 'utf8'))?.[1];
  return Number(kilobytes ?? 0) * 1024;
}

async function ask<Body>(
  node: ServedNode,
  path: string,
  init: { method?: string; body?: string } = {},
): Promise<Body> {
  const headers = {
    'Content-Type': 'application/json',
    Authorization: `Bearer ${(await readFile(node.token_file, 'utf8')).trim()}`,
  };
  return (await (await fetch(new URL(path, node.url), { ...init, headers })).json()) as Body;
}

async function packsOf(node: ServedNode): Promise<number> {
  return (await ask<{ total: number }>(node, '/api/packs?parts=true&limit=1')).total;
}

interface Run {
  code: number | null;
  stdout: string;
  stderr: string;
  peak: number;
}

/** Runs the command, and kills it once the node has this many packs. */
async function runPublish(node: ServedNode, args: string[], killAt: number): Promise<Run> {
  const child = spawn(process.execPath, [BUILT_SERVER, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  const run: Run = { code: null, stdout: '', stderr: '', peak: 0 };
  child.stdout.on('data', (chunk: Buffer) => (run.stdout += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (run.stderr += chunk.toString()));
  const ended = once(child, 'close') as Promise<[number | null]>;
  let isOver = false;
  void ended.then(() => (isOver = true));
  while (!isOver) {
    await pause(200);
    run.peak = Math.max(run.peak, await peakMemory(child.pid ?? 0).catch(() => 0));
    if ((await packsOf(node)) >= killAt) child.kill('SIGKILL');
  }
  [run.code] = await ended;
  return run;
}

async function digestOf(chunks: AsyncIterable<Uint8Array>): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of chunks) hash.update(chunk);
  return hash.digest('hex');
}

test(`${GIGABYTES} GB in ${FILES} files are published through three kills with flat memory`, async () => {
  const root = mkdtempSync(join(process.env.STRONGROOM_SET_TRIAL_FOLDER ?? tmpdir(), 'strongroom-sets-'));
  // From its sources, a node needs more memory: Node strips their types.
  await buildIfStale('server', () => undefined);
  let node = await serveBuiltNode(join(root, 'data'));
  try {
    await ask(node, '/manage/settings', {
      method: 'PATCH',
      body: JSON.stringify({ data_cap_gb: 1_000, min_free_disk_gb: 1 }),
    });
    const folder = join(root, 'folder');
    await mkdir(folder);
    const files = await writeFolder(folder);
    const record = join(root, 'record.json');
    await writeFile(record, JSON.stringify(sampleRecord()));
    const planned = planSet(files).length;
    const args = ['publish', folder, '--record', record, '--data', join(root, 'data'), '--json'];
    const peaks: number[] = [];
    const began = performance.now();
    for (const share of KILLS) {
      const { code, peak, stderr } = await runPublish(node, args, Math.ceil(planned * share));
      expect([code, stderr]).toEqual([null, '']);
      peaks.push(peak);
    }
    // It finishes the parts that it had received when the command was killed.
    const earlierPeak = await peakMemory(node.pid);
    await end(node, 'SIGTERM');
    node = await serveBuiltNode(join(root, 'data'));
    const before = await packsOf(node);
    const { code, peak, stdout, stderr } = await runPublish(node, args, Number.POSITIVE_INFINITY);
    expect([code, stderr]).toEqual([0, '']);
    const published = JSON.parse(stdout) as PublishedFolder;
    const seconds = (performance.now() - began) / 1000;
    const total = files.reduce((sum, { bytes }) => sum + bytes, 0);
    expect(published).toMatchObject({ files: FILES, bytes: total, parts: planned });
    // All that were not finished, and none that was.
    expect(published.sent).toBe(planned - before);
    expect(await packsOf(node)).toBe(planned + 1);
    expect((await ask<{ total: number }>(node, '/api/packs')).total).toBe(1);
    peaks.push(peak);
    const nodePeak = Math.max(earlierPeak, await peakMemory(node.pid));

    // The large file, whole and across a seam.
    const address = new URL(`/api/packs/${published.pack}/set/files/large.bin`, node.url);
    const large = join(folder, 'large.bin');
    const whole = await fetch(address);
    const [sent, kept] = [
      await digestOf(whole.body as AsyncIterable<Uint8Array>),
      await digestOf(createReadStream(large)),
    ];
    expect(sent).toBe(kept);
    const range = { start: 48 * 1_048_576 - 1_000, end: 2 * 48 * 1_048_576 + 1_000 };
    const seam = await fetch(address, { headers: { Range: `bytes=${range.start}-${range.end}` } });
    expect(seam.status).toBe(206);
    expect(await digestOf(seam.body as AsyncIterable<Uint8Array>)).toBe(
      await digestOf(createReadStream(large, range)),
    );

    // One ZIP, whose end is read without its beginning.
    const download = new URL(`/api/packs/${published.pack}/set/download`, node.url);
    const downloading = performance.now();
    const zip = await fetch(download);
    const length = Number(zip.headers.get('Content-Length'));
    let received = 0;
    for await (const chunk of zip.body as AsyncIterable<Uint8Array>) received += chunk.length;
    expect(received).toBe(length);
    const downloadSeconds = (performance.now() - downloading) / 1000;
    const peakAfter = await peakMemory(node.pid);
    const rate = (over: number) => `${Math.round(total / 1_000_000 / over)} MB/s`;
    process.stderr.write(
      `${planned} parts, ${total} bytes: published in ${seconds.toFixed(1)} s (${rate(seconds)}), ` +
        `command ${peaks.map((each) => Math.round(each / 1e6)).join(', ')} MB, node ${Math.round(nodePeak / 1e6)} MB; ` +
        `ZIP in ${downloadSeconds.toFixed(1)} s (${rate(downloadSeconds)}), node ${Math.round(peakAfter / 1e6)} MB\n`,
    );
    for (const each of peaks) expect(each).toBeLessThan(COMMAND_MEMORY_BYTES);
    expect(nodePeak).toBeLessThan(NODE_MEMORY_BYTES);
    expect(peakAfter).toBeLessThan(NODE_MEMORY_BYTES);
  } finally {
    await end(node, 'SIGTERM');
    rmSync(root, { recursive: true, force: true });
  }
}, 3_600_000);
