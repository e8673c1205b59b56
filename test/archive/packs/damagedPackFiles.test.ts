import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { PROBLEMS } from '../../../shared/problems.ts';
import { BAG, VALID_PACK_FILE } from '../../support/archive/packFiles.ts';
import { buildZip } from '../../support/archive/zipBuilder.ts';
import { openPool, type Pool } from '../../support/refusals.ts';

let pool: Pool;
beforeAll(async () => {
  pool = await openPool();
});
afterAll(() => pool.close());

const good = fc.constantFrom(VALID_PACK_FILE, buildZip(BAG.map((entry) => ({ ...entry, method: 8 }))));
/** Positions near the end of the ZIP, where its directory is, are as frequent as all others together. */
const place = fc.oneof(
  fc.nat(100_000),
  fc.nat(900).map((fromEnd) => -1 - fromEnd),
);
const damage = fc.oneof(
  fc.record({
    kind: fc.constant('overwrite' as const),
    place,
    bytes: fc.uint8Array({ minLength: 1, maxLength: 8 }),
  }),
  fc.record({
    kind: fc.constant('insert' as const),
    place,
    bytes: fc.uint8Array({ minLength: 1, maxLength: 60 }),
  }),
  fc.record({
    kind: fc.constant('remove' as const),
    place,
    bytes: fc.uint8Array({ minLength: 1, maxLength: 60 }),
  }),
  fc.record({ kind: fc.constant('cut' as const), place, bytes: fc.constant(new Uint8Array()) }),
);

interface Damage {
  kind: 'overwrite' | 'insert' | 'remove' | 'cut';
  /** Counted from the end if negative. */
  place: number;
  bytes: Uint8Array;
}

function damaged(zip: Buffer, { kind, place: at, bytes }: Damage): Buffer {
  const start = at < 0 ? Math.max(0, zip.length + at) : at % (zip.length + 1);
  const [before, after] = [zip.subarray(0, start), zip.subarray(start)];
  if (kind === 'cut') return before;
  if (kind === 'insert') return Buffer.concat([before, bytes, after]);
  const rest = after.subarray(bytes.length);
  return Buffer.concat(kind === 'remove' ? [before, rest] : [before, bytes, rest]);
}

test('a pack file with any damage is either refused with a code, or read correctly, and leaves nothing behind', async () => {
  await fc.assert(
    fc.asyncProperty(good, fc.array(damage, { minLength: 1, maxLength: 3 }), async (zip, damages) => {
      const code = await pool.refusalOf(damages.reduce(damaged, zip));
      if (code !== undefined) expect([413, 422]).toContain(PROBLEMS[code].status);
    }),
    { numRuns: 400 },
  );
  expect(await pool.leftOver()).toEqual([]);
});
