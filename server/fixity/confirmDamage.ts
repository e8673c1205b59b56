import { Problem } from '../../shared/problems.ts';
import { rehashBlobs } from '../hashing/hashFiles.ts';
import { type BlobStore, isMissing, isUnreadable } from '../store/blobs/blobStore.ts';
import { blobRow } from '../store/sqlite/node/blobs.ts';
import { readSetting, writeSetting } from '../store/sqlite/node/settings.ts';
import type { Store } from '../store/store.ts';
import { recordFindings } from './audit.ts';
import { auditBlobs } from './auditBlobs.ts';
import { type Finding, isDamaged } from './damages.ts';

/** The parts of the store that checking blobs and recording their damage needs. */
export type DamageContext = Pick<Store, 'folder' | 'read' | 'write' | 'instant' | 'blobs'>;

/** Returns whether an error means that a blob is damaged: missing, of another size, or unreadable. */
export function isBlobDamageError(error: unknown): boolean {
  return (
    (error instanceof Problem && error.code === 'blob_damaged') || isMissing(error) || isUnreadable(error)
  );
}

/**
 * Records damage that was found while blobs were read, so that they are withheld from then on. The blobs are first
 * re-hashed, as in an audit; nothing is recorded twice. Resolves when the damage is recorded, or if it cannot be (then the
 * next reader tries again).
 */
export async function confirmDamage(store: DamageContext, digests: readonly string[]): Promise<void> {
  const unknown = digests.filter((sha256) => !isDamaged(store.read, sha256));
  if (unknown.length === 0) return;
  let checks = checksOf.get(store.blobs);
  if (!checks) checksOf.set(store.blobs, (checks = new DamageChecks()));
  await checks.request(store, unknown);
}

/** The setting with the time at which this archive was restored from a dump without its blobs. */
const RESTORED_AT = 'restored_without_bytes_at';

/**
 * Marks an archive as restored from a dump without its blobs. Reading a missing blob then records no damage, so that the
 * ledger stays as it was restored. An audit records the blobs that are still missing.
 */
export async function markRestoredWithoutBlobs(store: Pick<Store, 'write' | 'instant'>): Promise<void> {
  await store.write((database) => writeSetting(database, RESTORED_AT, store.instant()));
}

function isExpected({ sha256, problem }: Finding, { read }: DamageContext): boolean {
  const restoredAt = readSetting(read, RESTORED_AT);
  const storedAt = blobRow(read, sha256)?.stored_at;
  return (
    problem === 'missing' &&
    typeof restoredAt === 'string' &&
    storedAt !== undefined &&
    storedAt <= restoredAt
  );
}

const checksOf = new WeakMap<BlobStore, DamageChecks>();

/** Runs one check at a time; digests that are requested meanwhile are checked together in the next one. */
class DamageChecks {
  readonly #waiting = new Set<string>();
  #last: Promise<void> = Promise.resolve();
  #next: Promise<void> | undefined;

  request(store: DamageContext, digests: readonly string[]): Promise<void> {
    for (const sha256 of digests) this.#waiting.add(sha256);
    if (this.#next) return this.#next;
    const check = () => {
      this.#next = undefined;
      const batch = [...this.#waiting].sort();
      this.#waiting.clear();
      return checkBlobs(store, batch);
    };
    // A failure is reported to those who requested that check.
    this.#last = this.#last.then(check, check);
    this.#next = this.#last;
    return this.#next;
  }
}

async function checkBlobs(store: DamageContext, digests: readonly string[]): Promise<void> {
  try {
    await checkAway(store, digests);
    for (let only = digests; only.length > 0; ) {
      const { findings, position, isEnd } = await auditBlobs(store, { after: '', only });
      await recordFindings(
        store,
        findings.filter((finding) => !isExpected(finding, store)),
      );
      only = isEnd ? [] : only.slice(only.indexOf(position) + 1);
    }
  } catch (error) {
    // Nothing can be written now. The reader still gets its error.
    if (!(error instanceof Problem)) throw error;
  }
}

/** Records the blobs that have left this disk and of which every copy is damaged; none that cannot be reached now. */
async function checkAway(store: DamageContext, digests: readonly string[]): Promise<void> {
  for (const sha256 of digests) {
    const bytes = store.blobs.away.bytesOf(sha256);
    if (bytes === undefined || !(await store.blobs.away.isAway(sha256))) continue;
    const found = (await rehashBlobs(store.blobs, [{ sha256, bytes }])).get(sha256) ?? null;
    if (found === null) await recordFindings(store, [{ sha256, bytes, problem: 'unreadable', found }]);
  }
}
