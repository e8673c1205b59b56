import { hash } from 'node:crypto';
import { countEncryptedFiles } from '../store/sqlite/node/copiedFiles.ts';
import {
  addCleaned,
  type CopyRow,
  countWithheldInTheClear,
  deleteCopiedObject,
  insertCopiedObjects,
  isAnyReleasedInTheClear,
  isAnythingUnreadable,
  isCopied,
  leaveOut,
  leftOutObjects,
  releasedInTheClear,
  setSending,
  withheldDigests,
  withheldInTheClear,
} from '../store/sqlite/node/copies.ts';
import { isCheckedElsewhere, offloadedBytes } from '../store/sqlite/node/offloadedObjects.ts';
import { isWithheld, releaseOf } from '../store/sqlite/node/withheld.ts';
import { type SyncedCopy, sentDigest } from './copyFiles.ts';
import { LEFT_OUT, OBJECTS, objectPath } from './copyPaths.ts';
import { purgeEncrypted } from './earlierEncrypted.ts';
import { placesWithout } from './placesWithout.ts';
import { inBatches } from './sendObjects.ts';

/** The objects that are hashed, and then removed, together. */
const BATCH = { objects: 250, bytes: 134_217_728 };
const PAGE = 1_000;

/** What became of withheld and released objects in a copy. */
export interface Cleaned {
  /** Withheld objects that the copy had, and no longer has. */
  withheld: number;
  /** Released objects that the copy had, and no longer has. */
  released: number;
  /** Withheld objects that are still in the clear there. */
  left: number;
  /** Whether older versions of what was removed or replaced may still be in the bucket. */
  hasVersions: boolean;
}

export const NOTHING_CLEANED: Cleaned = { withheld: 0, released: 0, left: 0, hasVersions: false };

/** Whether readers may look into a copy: it has pages, or those that its owner no longer wants are still there. */
export function isOpenToReaders({ pages, pages_size }: Pick<CopyRow, 'pages' | 'pages_size'>): boolean {
  return pages === 1 || pages_size > 0;
}

/**
 * Withheld and released objects in a copy. Readers may look into a copy with pages, so it has no withheld bytes: a file
 * names the objects that it leaves out. One that it had is removed last: after the bytes were found elsewhere, and after no
 * page shows anything of it any more. Everything follows from the state of the copy, so a sync that was killed is continued
 * by the next one.
 */
export class WithheldObjects {
  readonly #synced: SyncedCopy;
  /** What the list of this sync says that the copy does not have. */
  #named = new Set<string>();
  readonly #cleaned: Cleaned = { ...NOTHING_CLEANED };
  /** Whether something is still to be removed that could not be now. */
  #mustRepeat = false;

  constructor(synced: SyncedCopy) {
    this.#synced = synced;
  }

  get #store() {
    return this.#synced.services.store;
  }

  get #id(): string {
    return this.#synced.copy.id;
  }

  /** Whether a copy must not have an object, because it is withheld and readers may look there. */
  hides(sha256: string): boolean {
    return isOpenToReaders(this.#synced.copy) && isWithheld(this.#store.read, sha256);
  }

  /** Whether a sync that has nothing to send has something to remove: perhaps it may by now. */
  get hasRemains(): boolean {
    const { read } = this.#store;
    const copy = this.#id;
    if (countEncryptedFiles(read, { copy }) > 0) return true;
    return this.#synced.copy.pages === 1 && countWithheldInTheClear(read, { copy }) > 0;
  }

  /** Records that a sync begins. If the one before did not end, what it may have left in the clear is looked for. */
  async begin(): Promise<void> {
    const { copy, target, signal } = this.#synced;
    const { read } = this.#store;
    if (copy.is_sending === 1 && isAnythingUnreadable(read)) {
      const found: string[] = [];
      for await (const { path } of target.list(OBJECTS, signal)) {
        const sha256 = path.slice(OBJECTS.length);
        if (isCopied(read, copy.id, sha256)) continue;
        if (isWithheld(read, sha256) || releaseOf(read, sha256)) found.push(sha256);
      }
      await this.#store.write((database) => insertCopiedObjects(database, copy.id, found));
    }
    await this.#store.write((database) => setSending(database, { copy: copy.id, isSending: 1 }));
  }

  /** Yields the digests that a query finds. What was done with some may end that they are found. */
  async *#pages(find: typeof leftOutObjects): AsyncGenerator<string[]> {
    for (let after = ''; ; ) {
      this.#synced.signal.throwIfAborted();
      const digests = find(this.#store.read, { copy: this.#id, after, limit: PAGE });
      const last = digests.at(-1);
      if (last === undefined) return;
      yield digests;
      after = last;
    }
  }

  /** Yields objects that the copy lacks and that are here. Those that it must not have are among them. */
  leftOut(): AsyncGenerator<string[]> {
    return this.#pages(leftOutObjects);
  }

  /** Yields withheld objects that the copy has in the clear: pages may show something of them. */
  async *inTheClear(): AsyncGenerator<string[]> {
    if (this.#synced.copy.pages === 1) yield* this.#pages(withheldInTheClear);
  }

  /** Whether pages are replaced that show something of what is removed. Their older versions must not stay. */
  async mustClean(): Promise<boolean> {
    if (isAnyReleasedInTheClear(this.#store.read, { copy: this.#id })) return true;
    return !(await this.inTheClear().next()).done;
  }

  /**
   * Sends the names of the objects that the copy does not have: what is withheld, and what it was not sent.
   *
   * @param isAgain whether they are sent although the copy should have them as they are
   */
  async sendNames({ isAgain = false } = {}): Promise<void> {
    const { read } = this.#store;
    const { copy, files } = this.#synced;
    const named = new Set<string>();
    const all = (database: typeof read, { after, limit }: { after: string; limit: number }) =>
      withheldDigests(database, { after, limit });
    if (copy.pages === 1)
      for await (const digests of this.#pages(all)) for (const sha256 of digests) named.add(sha256);
    for await (const digests of this.leftOut()) for (const sha256 of digests) named.add(sha256);
    this.#named = named;
    if (named.size === 0) return files.removeLater([LEFT_OUT]);
    const bytes = Buffer.from(`${[...named].sort().join('\n')}\n`);
    const isSent = files.has(LEFT_OUT) && sentDigest(read, copy.id, LEFT_OUT) === hash('sha256', bytes);
    if (isSent && !isAgain) return;
    await files.send({ path: LEFT_OUT, payload: { bytes }, type: 'text/plain; charset=utf-8' });
    await files.sendBatch();
  }

  /** Removes the older versions of pages that were replaced. @throws CopyError */
  async forgetVersions(pages: readonly string[]): Promise<void> {
    if (!(await this.#synced.target.forgetVersions(pages))) this.#cleaned.hasVersions = true;
  }

  /** Removes what may no longer be there, once no page shows it and the list says that it is not there. */
  async clean(): Promise<Cleaned> {
    if (!(await purgeEncrypted(this.#synced))) this.#cleaned.hasVersions = true;
    for await (const digests of this.#pages(releasedInTheClear)) {
      await this.#purge(digests);
      await this.#store.write((database) => {
        for (const sha256 of digests) deleteCopiedObject(database, this.#id, sha256);
      });
      this.#cleaned.released += digests.length;
    }
    for await (const digests of this.inTheClear()) {
      const listed = digests.filter((sha256) => this.#named.has(sha256));
      for (const batch of inBatches(this.#store.read, listed, BATCH)) await this.#removeWithheld(batch);
    }
    if (this.#synced.copy.pages === 1)
      this.#cleaned.left = countWithheldInTheClear(this.#store.read, { copy: this.#id });
    return this.#cleaned;
  }

  async #removeWithheld(digests: readonly string[]): Promise<void> {
    const { target, signal } = this.#synced;
    const safe = await placesWithout(
      this.#store,
      { copy: this.#id, digests },
      async (sha256) => (await target.read(objectPath(sha256), signal)) as AsyncIterable<Buffer> | undefined,
    );
    // Before they are removed: from then on, nothing is offloaded to this copy. A sync that is killed in between finds them.
    const leaving = await this.#store.write((database) => {
      const mayLeave = [...safe].filter(
        (sha256) =>
          offloadedBytes(database, sha256) === undefined ||
          isCheckedElsewhere(database, { copy: this.#id, sha256 }),
      );
      leaveOut(database, this.#id, mayLeave);
      return mayLeave;
    });
    if (leaving.length < safe.size) this.#mustRepeat = true;
    await this.#purge(leaving);
    await this.#store.write((database) => addCleaned(database, { copy: this.#id, objects: leaving.length }));
    this.#cleaned.withheld += leaving.length;
  }

  async #purge(digests: readonly string[]): Promise<void> {
    if (!(await this.#synced.target.purge(digests.map(objectPath)))) this.#cleaned.hasVersions = true;
  }

  /** Records that the sync has removed everything that it had to. */
  async end(): Promise<void> {
    if (this.#mustRepeat) return;
    await this.#store.write((database) => setSending(database, { copy: this.#id, isSending: 0 }));
  }
}
