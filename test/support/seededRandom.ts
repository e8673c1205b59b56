import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';

/** Returns a generator of numbers from 0 to 1 that is deterministic for a seed (mulberry32). */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

const SEED_BYTES = 4;
/** A SHA-256 has bytes for so many. */
const MOST = 8;

/** Returns other seeds for each commit and each day; set STRONGROOM_SEED to reproduce a failure. @param count at most 8 */
export function newSeeds(count: number): number[] {
  const given = process.env['STRONGROOM_SEED'];
  if (given) return [Number(given)];
  if (count > MOST) throw new RangeError(`There are ${MOST} seeds.`);
  const commit = execFileSync('git', ['rev-parse', 'HEAD'], { cwd: import.meta.dirname, encoding: 'utf8' });
  const bytes = createHash('sha256')
    .update(`${commit}${new Date().toISOString().slice(0, 10)}`)
    .digest();
  return Array.from({ length: count }, (_, index) => bytes.readUInt32LE(index * SEED_BYTES));
}
