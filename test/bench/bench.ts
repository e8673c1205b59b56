import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** One line of a benchmark: a figure of ours beside a peer's, measured in the same run. */
export interface Measurement {
  what: string;
  ours: string;
  /** What it is measured against, and its figure; absent where the reach is an absolute time. */
  peer?: string;
  /** Ours over the peer's, or the figure itself. */
  ratio?: number;
  reach: string;
  holds: boolean;
}

export interface Bench {
  name: string;
  /** Works in a folder of its own, removed once all benches are over. */
  run(folder: string): Promise<Measurement[]>;
}

/** Runs benches one after the other and prints each figure as soon as it is known. */
export async function runBenches(benches: readonly Bench[]): Promise<void> {
  const folders: string[] = [];
  try {
    for (const bench of benches) {
      const folder = await mkdtemp(join(tmpdir(), 'strongroom-bench-'));
      folders.push(folder);
      for (const measurement of await bench.run(folder)) print(bench.name, measurement);
    }
  } finally {
    // At the very end: creating files is slow on ext4 for minutes after thousands were removed.
    for (const folder of folders) await rm(folder, { recursive: true, force: true });
  }
}

function print(name: string, { what, ours, peer, ratio, reach, holds }: Measurement): void {
  const against =
    peer === undefined ? '' : ` | ${peer}${ratio === undefined ? '' : ` | ratio ${ratio.toFixed(2)}`}`;
  console.log(`${name}: ${what}\n  ${ours}${against} | reach ${reach}: ${holds ? 'reached' : 'NOT reached'}`);
}

/** Milliseconds that some work took. */
export async function timed(work: () => unknown): Promise<number> {
  const started = performance.now();
  await work();
  return performance.now() - started;
}

/** The value below which that share of the values lies. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((left, right) => left - right);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

/** The middle of the values: what a loaded machine spoils least. */
export function median(values: readonly number[]): number {
  return percentile(values, 0.5);
}
