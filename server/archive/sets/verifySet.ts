import type { PackVerification } from '../../../shared/archive/pack.ts';
import { Problem } from '../../../shared/problems.ts';
import { confirmDamage } from '../../fixity/audit.ts';
import { hashJoined } from '../../hashing/hashFiles.ts';
import { yieldToEventLoop } from '../../runtime/background.ts';
import { packById } from '../../store/sqlite/archive/packs.ts';
import { releasedAmong } from '../../store/sqlite/node/withheld.ts';
import type { Store } from '../../store/store.ts';
import { type Reader, unreadable } from '../../withholding/withholding.ts';
import { recordChecks, verifyPack } from '../packs/comparePacks.ts';
import { findSet, type OpenedSet } from './readSet.ts';

type Check = PackVerification['checks'][number];

/** The files that are hashed in one message to a thread. */
const MAX_BYTES = 1_073_741_824;
const MAX_FILES = 2_000;

/**
 * Verifies a pack. Of a set, every part is verified with it: its record, its ledger entry, and each file of the set by
 * hashing its parts again, joined.
 *
 * @param reader who is told: the names of the files are in the list of the set, which may be withheld
 * @throws Problem `not_found`, `copy_unreachable`
 */
export async function verifyWithParts(store: Store, id: string, reader: Reader): Promise<PackVerification> {
  const own = await verifyPack(store, id);
  const set = own.ok ? await findReadableSet(store, id, reader) : undefined;
  if (!set) return own;
  const checks = [...own.checks, ...(await checksOfParts(store, set)), ...(await checksOfFiles(store, set))];
  // Hashing may take hours, and the list may have been withheld meanwhile.
  if (unreadable(store.read, set.file, reader)) return own;
  return { ...own, ok: checks.every(({ ok }) => ok), checks };
}

/**
 * Returns undefined if the list of the set is withheld from the reader, or was given up, here or by the peer that it is from.
 * Its own check says so.
 */
async function findReadableSet(store: Store, id: string, reader: Reader): Promise<OpenedSet | undefined> {
  try {
    return await findSet(store, id, reader);
  } catch (error) {
    if (error instanceof Problem && (error.code === 'released' || error.code === 'withheld'))
      return undefined;
    throw error;
  }
}

async function checksOfParts(store: Store, { index }: OpenedSet): Promise<Check[]> {
  const checks: Check[] = [];
  for (const pack of index.packs) {
    const row = packById(store.read, pack);
    if (row) for (const check of recordChecks(store, row).checks) checks.push({ ...check, pack });
    else checks.push({ check: 'ledger', ok: false, expected: pack, actual: null, pack });
    await yieldToEventLoop();
  }
  return checks;
}

async function checksOfFiles(store: Store, { index }: OpenedSet): Promise<Check[]> {
  const checks: Check[] = [];
  for (let from = 0; from < index.count; ) {
    let to = from;
    for (let bytes = 0; to < index.count && to - from < MAX_FILES && bytes < MAX_BYTES; to += 1)
      bytes += index.bytesOf(to);
    const files = Array.from({ length: to - from }, (_, place) => from + place);
    checks.push(...(await checkFiles(store, { index }, files)));
    from = to;
  }
  return checks;
}

async function checkFiles(
  store: Store,
  { index }: Pick<OpenedSet, 'index'>,
  files: readonly number[],
): Promise<Check[]> {
  const parts = files.map((file) => index.partsOf(file));
  const digests = parts.map((each) => each.map(({ sha256 }) => sha256));
  const released = new Set(releasedAmong(store.read, digests.flat()));
  const isKept = digests.map((each) => !each.some((digest) => released.has(digest)));
  const hashed = await hashJoined(
    store.blobs,
    parts.filter((_, place) => isKept[place]),
  );
  const damaged: string[] = [];
  const checks = files.map((file, place): Check => {
    const expected = index.sha256Of(file);
    const path = index.pathOf(file);
    if (!isKept[place]) return { check: 'blob', ok: true, expected, actual: null, released: true, path };
    const found = hashed.shift();
    damaged.push(...(digests[place] ?? []).filter((digest, part) => found?.blobs[part] !== digest));
    const actual = found?.sha256 ?? null;
    return { check: 'blob', ok: actual === expected, expected, actual, path };
  });
  await confirmDamage(store, damaged);
  return checks;
}
