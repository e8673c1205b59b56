import { Problem } from '../../shared/problems.ts';
import { type BlobStore, isMissing, isUnreadable } from '../store/blobs/blobStore.ts';
import { blobRow } from '../store/sqlite/node/blobs.ts';
import { readSetting, writeSetting } from '../store/sqlite/node/settings.ts';
import type { Store } from '../store/store.ts';
import { recordFindings } from './audit.ts';
import { auditBlobs } from './auditBlobs.ts';
import { type Finding, isDamaged } from './damages.ts';

/** What is needed to look at stored bytes and to record what is wrong with them. */
export type DamageContext = Pick<Store, 'folder' | 'read' | 'write' | 'instant' | 'blobs'>;

/** Whether reading stored bytes failed because they are not what they must be: missing, of another size, unreadable. */
export function isBlobDamageError(error: unknown): boolean {
  return (
    (error instanceof Problem && error.code === 'blob_damaged') || isMissing(error) || isUnreadable(error)
  );
}

/**
 * The one place where damage that somebody met comes to be recorded: so the bytes are held back from then on. They are
 * looked at once more first, as an audit does, and nothing is recorded twice. Resolves when it is recorded, or cannot
 * be: whoever met the damage tells of that, and who meets it next records it.
 */
export async function confirmDamage(store: DamageContext, digests: readonly string[]): Promise<void> {
  const unknown = digests.filter((sha256) => !isDamaged(store.read, sha256));
  if (unknown.length === 0) return;
  let looks = looksAt.get(store.blobs);
  if (!looks) looksAt.set(store.blobs, (looks = new Looks()));
  await looks.ask(store, unknown);
}

/** When this archive was read back from a dump, which brings no bytes. */
const RESTORED_AT = 'restored_without_bytes_at';

/**
 * Says that an archive was read back from a dump. Bytes that did not come with it are missing, and no damage that a
 * reader meets: the ledger stays as it was read back. An audit records what is still missing then.
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

const looksAt = new WeakMap<BlobStore, Looks>();

/** One thread looks at a time, however many meet damage; what is met meanwhile is looked at together. */
class Looks {
  readonly #waiting = new Set<string>();
  #last: Promise<void> = Promise.resolve();
  #next: Promise<void> | undefined;

  ask(store: DamageContext, digests: readonly string[]): Promise<void> {
    for (const sha256 of digests) this.#waiting.add(sha256);
    if (this.#next) return this.#next;
    const look = () => {
      this.#next = undefined;
      const taken = [...this.#waiting].sort();
      this.#waiting.clear();
      return lookAt(store, taken);
    };
    // Who asked for the last look hears of its failure.
    this.#last = this.#last.then(look, look);
    this.#next = this.#last;
    return this.#next;
  }
}

async function lookAt(store: DamageContext, digests: readonly string[]): Promise<void> {
  try {
    for (let only = digests; only.length > 0; ) {
      const { findings, position, isEnd } = await auditBlobs(store, { after: '', only });
      await recordFindings(
        store,
        findings.filter((finding) => !isExpected(finding, store)),
      );
      only = isEnd ? [] : only.slice(only.indexOf(position) + 1);
    }
  } catch (error) {
    // Nothing can be written now; that keeps nobody from being told what was met.
    if (!(error instanceof Problem)) throw error;
  }
}
