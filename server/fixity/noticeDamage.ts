import { Problem } from '../../shared/problems.ts';
import { type BlobStore, isMissing, isUnreadable } from '../store/blobs/blobStore.ts';
import type { Store } from '../store/store.ts';
import { auditBlobs } from '../workers/auditBlobs.ts';
import { recordFindings } from './audit.ts';
import { isDamaged } from './damages.ts';

/** What is needed to look at stored bytes and to record what is wrong with them. */
export type Noticing = Pick<Store, 'folder' | 'read' | 'write' | 'instant' | 'blobs'>;

/** Whether reading stored bytes failed because they are not what they must be: missing, of another size, unreadable. */
export function isDamageMet(error: unknown): boolean {
  return (
    (error instanceof Problem && error.code === 'blob_damaged') || isMissing(error) || isUnreadable(error)
  );
}

/**
 * The one place where damage that somebody met comes to be recorded: so the bytes are held back from then on. They are
 * looked at once more first, as an audit does, and nothing is recorded twice. Resolves when it is recorded, or cannot
 * be: whoever met the damage tells of that, and who meets it next records it.
 */
export async function noticeDamage(store: Noticing, digests: readonly string[]): Promise<void> {
  const unknown = digests.filter((sha256) => !isDamaged(store.read, sha256));
  if (unknown.length === 0) return;
  let looks = looksAt.get(store.blobs);
  if (!looks) looksAt.set(store.blobs, (looks = new Looks()));
  await looks.ask(store, unknown);
}

const looksAt = new WeakMap<BlobStore, Looks>();

/** One thread looks at a time, however many meet damage; what is met meanwhile is looked at together. */
class Looks {
  readonly #waiting = new Set<string>();
  #last: Promise<void> = Promise.resolve();
  #next: Promise<void> | undefined;

  ask(store: Noticing, digests: readonly string[]): Promise<void> {
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

async function lookAt(store: Noticing, digests: readonly string[]): Promise<void> {
  try {
    for (let only = digests; only.length > 0; ) {
      const { findings, position, isEnd } = await auditBlobs(store, { after: '', only });
      await recordFindings(store, findings);
      only = isEnd ? [] : only.slice(only.indexOf(position) + 1);
    }
  } catch (error) {
    // Nothing can be written now; that keeps nobody from being told what was met.
    if (!(error instanceof Problem)) throw error;
  }
}
