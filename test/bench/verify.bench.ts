import { type SpawnOptions, spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, open, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildIfStale } from '../../server/launch/build.ts';
import { NODE_OPTIONS } from '../support/cli.ts';
import { type Bench, type Measurement, median, scaled, timed } from './bench.ts';

/** What the script `strongroom` of `package.json` runs. */
const LAUNCHER = fileURLToPath(new URL('../../server/launch/checkout.ts', import.meta.url));

const SMALL_FOLDERS = scaled(100, 2);
const SMALL_FILES = scaled(300, 5);
const SMALL_BYTES = 4_096;
const LARGE_FILES = scaled(4);
const LARGE_BYTES = scaled(1_073_741_824, 1_000_000);
const REPETITIONS = scaled(5);

/**
 * Runs `strongroom verify` with its start-up, as an installed app does; the time that npm adds in a checkout is shown
 * beside it. Small files are compared with `sha256sum` over `xargs`, large ones with one `openssl dgst`, which read the
 * files one after another. Two of each at the same time show what the machine can reach.
 */
export const verify: Bench = {
  name: 'verify',
  async run(folder): Promise<Measurement[]> {
    await buildIfStale('server', console.log);
    return [...(await small(join(folder, 'small'))), ...(await large(join(folder, 'large')))];
  },
};

async function small(folder: string): Promise<Measurement[]> {
  const sums: string[] = [];
  for (let index = 0; index < SMALL_FOLDERS; index += 1) {
    await mkdir(join(folder, String(index)), { recursive: true });
    for (let file = 0; file < SMALL_FILES; file += 1) {
      const name = `${index}/${file}.bin`;
      const content = randomBytes(SMALL_BYTES);
      await writeFile(join(folder, name), content);
      sums.push(`${createHash('sha256').update(content).digest('hex')}  ${name}\n`);
    }
  }
  await writeFile(join(folder, 'SHA256SUMS'), sums.join(''));
  const ours: number[] = [];
  const peer: number[] = [];
  const both: number[] = [];
  const throughNpm: number[] = [];
  const sha256sum = (processes: number) =>
    runs('sh', ['-c', `find '${folder}' -type f -print0 | xargs -0 -P${processes} sha256sum`]);
  for (let repetition = 0; repetition < REPETITIONS; repetition += 1) {
    ours.push(await timed(() => strongroom('verify', folder)));
    peer.push(await timed(() => sha256sum(1)));
    both.push(await timed(() => sha256sum(2)));
    throughNpm.push(await timed(() => runs('npm', ['run', '-s', 'strongroom', '--', 'verify', folder])));
  }
  // Each pair was measured at the same time of the machine.
  const ratio = median(ours.map((ms, index) => ms / (peer[index] ?? Number.NaN)));
  return [
    {
      what: `${SMALL_FOLDERS * SMALL_FILES} files of ${SMALL_BYTES} bytes verified`,
      ours: `${Math.round(median(ours))} ms, through npm ${Math.round(median(throughNpm))} ms`,
      peer: `find | xargs sha256sum: ${Math.round(median(peer))} ms, two at the same time: ${Math.round(median(both))} ms`,
      ratio,
      target: 'at most 1 times',
      holds: ratio <= 1,
    },
  ];
}

async function large(folder: string): Promise<Measurement[]> {
  await mkdir(folder);
  const files: string[] = [];
  const sums: string[] = [];
  for (let index = 0; index < LARGE_FILES; index += 1) {
    const name = `${index}.bin`;
    files.push(join(folder, name));
    sums.push(`${await fill(join(folder, name))}  ${name}\n`);
  }
  await writeFile(join(folder, 'SHA256SUMS'), sums.join(''));
  const half = files.length / 2;
  const ours: number[] = [];
  const peer: number[] = [];
  const both: number[] = [];
  const digest = (some: string[]) => runs('openssl', ['dgst', '-sha256', ...some]);
  for (let repetition = 0; repetition < REPETITIONS; repetition += 1) {
    ours.push(await timed(() => strongroom('verify', folder)));
    peer.push(await timed(() => digest(files)));
    both.push(await timed(() => Promise.all([digest(files.slice(0, half)), digest(files.slice(half))])));
  }
  const shown = (ms: number) => `${Math.round((LARGE_FILES * LARGE_BYTES) / ms / 1e3)} MB/s`;
  const ratio = median(peer.map((ms, index) => ms / (ours[index] ?? Number.NaN)));
  return [
    {
      what: `${LARGE_FILES} files of ${LARGE_BYTES / 2 ** 20} MiB verified`,
      ours: shown(median(ours)),
      peer: `openssl dgst: ${shown(median(peer))}, two at the same time: ${shown(median(both))}`,
      ratio,
      target: 'at least 1.6 times one openssl',
      holds: ratio >= 1.6,
    },
  ];
}

/** Fills a file with random bytes and returns its SHA-256 digest. */
async function fill(path: string): Promise<string> {
  const piece = 2 ** 24;
  const hash = createHash('sha256');
  const file = await open(path, 'w');
  try {
    for (let written = 0; written < LARGE_BYTES; written += piece) {
      const bytes = randomBytes(piece);
      hash.update(bytes);
      await file.writeFile(bytes);
    }
  } finally {
    await file.close();
  }
  return hash.digest('hex');
}

function strongroom(...args: string[]): Promise<void> {
  return runs(process.execPath, [...NODE_OPTIONS, LAUNCHER, ...args]);
}

/** Runs a program and discards its output. @throws Error if it fails */
async function runs(command: string, args: string[]): Promise<void> {
  const stdio: SpawnOptions['stdio'] = ['ignore', 'ignore', 'inherit'];
  const [code] = (await once(spawn(command, args, { stdio }), 'close')) as [number | null];
  if (code !== 0) throw new Error(`${command} ended with code ${code}.`);
}
