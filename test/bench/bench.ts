import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** One result: our figure and that of a peer, measured in the same run. */
export interface Measurement {
  what: string;
  ours: string;
  /** The peer and its figure; absent if the target is an absolute value. */
  peer?: string;
  /** Our figure divided by the peer's. */
  ratio?: number;
  target: string;
  holds: boolean;
}

export interface Bench {
  name: string;
  /** Runs in its own folder, which is removed after all benches. */
  run(folder: string): Promise<Measurement[]>;
}

/** Runs benches one after another and prints each result at once. */
export async function runBenches(benches: readonly Bench[]): Promise<void> {
  const folders: string[] = [];
  try {
    for (const bench of benches) {
      const folder = await mkdtemp(join(tmpdir(), 'strongroom-bench-'));
      folders.push(folder);
      for (const measurement of await bench.run(folder)) print(bench.name, measurement);
    }
  } finally {
    // Only at the end: after thousands of files were removed, creating files is slow on ext4 for minutes.
    for (const folder of folders) await rm(folder, { recursive: true, force: true });
  }
}

function print(name: string, { what, ours, peer, ratio, target, holds }: Measurement): void {
  const against =
    peer === undefined ? '' : ` | ${peer}${ratio === undefined ? '' : ` | ratio ${ratio.toFixed(2)}`}`;
  console.log(
    `${name}: ${what}\n  ${ours}${against} | target ${target}: ${holds ? 'reached' : 'NOT reached'}`,
  );
}

/**
 * Returns how many a bench measures. `STRONGROOM_BENCH_SHARE=0.1` measures a tenth of it. With 0, it is the least with which
 * the bench runs, so that a trial can run every bench: its figures mean nothing then.
 */
export function scaled(count: number, least = 1): number {
  return Math.max(least, Math.round(count * Number(process.env['STRONGROOM_BENCH_SHARE'] ?? 1)));
}

/** Returns the duration of some work in milliseconds. */
export async function timed(work: () => unknown): Promise<number> {
  const started = performance.now();
  await work();
  return performance.now() - started;
}

/** Returns the value below which this share of the values lies. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((left, right) => left - right);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

/** Returns the median, which a loaded machine affects least. */
export function median(values: readonly number[]): number {
  return percentile(values, 0.5);
}
