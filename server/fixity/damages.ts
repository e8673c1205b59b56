import type { Damage, DamagedFile, DamageProblem, Fixity } from '../../shared/ledger/fixity.ts';
import { Problem } from '../../shared/problems.ts';
import type { Slice } from '../../shared/values/list.ts';
import { rehashBlobs } from '../hashing/hashFiles.ts';
import { appendEntry, nextSeq } from '../ledger/appendEntry.ts';
import { fingerprintOver } from '../ledger/entry.ts';
import type { RecordedSubjects } from '../ledger/verifyLedger.ts';
import { type StagedBlob, TooManyBytesError } from '../store/blobs/blobStore.ts';
import { setAside } from '../store/blobs/lostAndFound.ts';
import { packById } from '../store/sqlite/archive/packs.ts';
import type { ReadDatabase, WriteDatabase } from '../store/sqlite/engine/open.ts';
import { onSnapshot, type Place } from '../store/sqlite/engine/queries.ts';
import {
  blobBytes,
  counter,
  currentDamageOf,
  currentDamages,
  type DamageRow,
  damagedFilesPage,
  damagesPage,
  insertDamage,
  insertRestoration,
  iterateDamages,
  iterateRestorations,
  lastCompletedAudit,
  type RestorationRow,
  releasedObjects,
} from '../store/sqlite/node/blobs.ts';
import { forgetOffloaded } from '../store/sqlite/node/offloadedObjects.ts';
import { deleteAbsent, isAbsent } from '../store/sqlite/node/peers.ts';
import { isReleased } from '../store/sqlite/node/withheld.ts';
import type { Store } from '../store/store.ts';

/** The result of re-hashing one blob: a damage, or null for a blob that is recorded as damaged and is intact. */
export interface Finding {
  sha256: string;
  bytes: number;
  problem: DamageProblem | null;
  found: string | null;
}

/** The digest that an entry `object.damaged` records. */
export const damageDigest: (damage: Omit<DamageRow, 'ledger_entry'>) => string = fingerprintOver([
  'sha256',
  'bytes',
  'problem',
  'found',
  'at',
]);

/** The digest that an entry `object.restored` records; `damage` is the number of the entry `object.damaged`. */
export const restorationDigest: (restoration: Omit<RestorationRow, 'ledger_entry'>) => string =
  fingerprintOver(['sha256', 'damage', 'at']);

/** Recomputes the digests of damages and restorations for the verification of the ledger. */
export const FIXITY_SUBJECTS: readonly RecordedSubjects[] = [
  {
    types: ['object.damaged'],
    *digests(database) {
      for (const damage of iterateDamages(database))
        yield { seq: damage.ledger_entry, digest: damageDigest(damage) };
    },
  },
  {
    types: ['object.restored'],
    *digests(database) {
      for (const restoration of iterateRestorations(database))
        yield { seq: restoration.ledger_entry, digest: restorationDigest(restoration) };
    },
  },
];

/** Records a damage, unless the blob is recorded as damaged, was given up, or never came. Returns whether it was new. */
export function recordDamage(
  database: WriteDatabase,
  { sha256, bytes, found }: Finding,
  problem: DamageProblem,
  at: string,
): boolean {
  if (currentDamageOf(database, sha256) !== undefined) return false;
  if (isReleased(database, sha256) || isAbsent(database, sha256)) return false;
  const damage: DamageRow = { ledger_entry: nextSeq(database), sha256, bytes, problem, found, at };
  appendEntry(database, { type: 'object.damaged', subject: sha256, digest: damageDigest(damage), at });
  insertDamage(database, damage);
  return true;
}

/** Records that the file of a blob has other bytes; `found` is their digest. */
export async function recordChanged(
  store: Pick<Store, 'write' | 'instant'>,
  { sha256, bytes }: { sha256: string; bytes: number },
  found: string,
): Promise<void> {
  if (found === sha256) return;
  await store.write((database) =>
    recordDamage(database, { sha256, bytes, problem: 'changed', found }, 'changed', store.instant()),
  );
}

/** Records that a blob is intact again. Returns false, and does nothing, if it was not recorded as damaged. */
export function recordIntact(database: WriteDatabase, sha256: string, at: string): boolean {
  const damage = currentDamageOf(database, sha256);
  if (damage === undefined) return false;
  const restoration: RestorationRow = { ledger_entry: nextSeq(database), damage, sha256, at };
  appendEntry(database, {
    type: 'object.restored',
    subject: sha256,
    digest: restorationDigest(restoration),
    at,
  });
  insertRestoration(database, restoration);
  return true;
}

/** Returns whether a blob is recorded as damaged. */
export function isDamaged(database: ReadDatabase, sha256: string): boolean {
  return currentDamageOf(database, sha256) !== undefined;
}

/** Returns a page of all damages, including repaired ones, newest first. */
export function listDamages(
  { read }: Pick<Store, 'read'>,
  page: { limit: number; offset: number },
): { items: Damage[]; total: number } {
  return onSnapshot(read, () => ({ items: damagesPage(read, page), total: counter(read, 'damages') }));
}

/** Returns a page of the files of a pack that are damaged now. @throws Problem `not_found` */
export function listDamagedFiles(
  { read }: Pick<Store, 'read'>,
  pack: string,
  page: Place,
): Slice<DamagedFile> {
  if (packById(read, pack) === undefined) throw new Problem('not_found', `There is no pack ${pack}.`);
  return damagedFilesPage(read, page, pack, pack);
}

const MAX_IN_STATUS = 100;

/** Returns the part of the status about fixity; runs in the caller's transaction. */
export function readFixity(read: ReadDatabase): Fixity {
  const last = lastCompletedAudit(read);
  return {
    last_completed_audit_at: last?.ended_at ?? null,
    checked: last?.checked ?? 0,
    damaged_objects: counter(read, 'damaged_objects'),
    ...releasedObjects(read),
    damaged: currentDamages(read, MAX_IN_STATUS).map(
      ({ sha256, bytes, problem, found, at, ledger_entry }) => ({
        sha256,
        bytes,
        problem,
        found,
        ledger_entry,
        since: at,
      }),
    ),
  };
}

/**
 * Puts a staged blob on stable storage, unless its bytes were given up. If the blob is recorded as damaged, the damaged
 * file is set aside first and the repair is recorded. If it was offloaded, it is here again. The caller adds the row
 * that names the blob.
 */
export async function storeWithRepair(
  store: Pick<Store, 'read' | 'write' | 'instant' | 'blobs' | 'folder'>,
  staged: StagedBlob,
): Promise<void> {
  const { sha256 } = staged;
  const { offloaded } = store.blobs;
  if (isReleased(store.read, sha256)) return;
  if (offloaded.bytesOf(sha256) === undefined) return keep(store, staged);
  await offloaded.exclusively(sha256, async () => {
    await keep(store, staged);
    await store.write((database) => forgetOffloaded(database, sha256));
  });
}

async function keep(
  store: Pick<Store, 'read' | 'write' | 'instant' | 'blobs' | 'folder'>,
  staged: StagedBlob,
): Promise<void> {
  const { sha256 } = staged;
  const isRepair = isDamaged(store.read, sha256);
  if (isRepair) await setAside(store.folder, sha256);
  await staged.keep();
  if (isAbsent(store.read, sha256)) await store.write((database) => deleteAbsent(database, sha256));
  if (isRepair) await store.write((database) => recordIntact(database, sha256, store.instant()));
}

/**
 * Puts an object from elsewhere into this archive, which has its row. Returns false, and keeps nothing, if the bytes do not
 * have the digest, or were given up.
 *
 * @throws the stream's errors
 */
export async function restoreObject(
  store: Store,
  sha256: string,
  stream: AsyncIterable<Buffer>,
): Promise<boolean> {
  if (isReleased(store.read, sha256)) {
    // Begun and ended: what it reads from may be a decrypted file, which only its end removes.
    for await (const _ of stream) break;
    return false;
  }
  let staged: Awaited<ReturnType<Store['blobs']['staging']['stage']>>;
  try {
    staged = await store.blobs.staging.stage(stream, blobBytes(store.read, sha256) ?? 0);
  } catch (error) {
    if (error instanceof TooManyBytesError) return false;
    throw error;
  }
  try {
    if (staged.sha256 !== sha256) return false;
    await storeWithRepair(store, staged);
    return true;
  } finally {
    await staged.discard();
  }
}

/**
 * Withholds a blob that is recorded as damaged: clients and caches would store its bytes under a wrong digest. The file is
 * re-hashed first, and passes if it was repaired by hand since.
 *
 * @throws Problem `blob_damaged`
 */
export async function requireIntact(
  { read, blobs }: Pick<Store, 'read' | 'blobs'>,
  blob: { sha256: string; bytes: number },
): Promise<void> {
  if (!isDamaged(read, blob.sha256)) return;
  const found = await rehashBlobs(blobs, [blob]);
  if (found.get(blob.sha256) !== blob.sha256) throw damagedBlobProblem();
}

/** The problem in the response to a request for a damaged blob. */
function damagedBlobProblem(): Problem {
  return new Problem(
    'blob_damaged',
    'These bytes are damaged on this node (see /api/damages) and are not served until they are repaired.',
  );
}
