import { randomBytes } from 'node:crypto';
import { createReadStream, createWriteStream, existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { isDamaged, restoreObject } from '../fixity/damages.ts';
import { temporaryFolder } from '../store/files.ts';
import { blobBytes } from '../store/sqlite/node/blobs.ts';
import {
  addCleaned,
  type CopyRow,
  copyById,
  countEncrypted,
  countWithheldInTheClear,
  deleteCopiedObject,
  encryptedObjects,
  encryptedToAnother,
  insertCopiedObjects,
  isAnyReleasedInTheClear,
  isAnythingUnreadable,
  isAnythingWithheld,
  isCopied,
  noLongerWithheld,
  notEncrypted,
  releasedInTheClear,
  setRecipient,
  setSending,
  toRemove,
  withheldInTheClear,
} from '../store/sqlite/node/copies.ts';
import { isReleased, isWithheld, releaseOf } from '../store/sqlite/node/withheld.ts';
import type { Store } from '../store/store.ts';
import type { CopyServices } from './claim.ts';
import type { CopyFiles } from './copyFiles.ts';
import { encryptedDigest, encryptedPath, OBJECTS, objectPath, WITHHELD } from './copyPaths.ts';
import { readIdentity, runAgeFiles, type WithheldKey, withheldKey } from './keys/copyKeys.ts';
import { inBatches } from './sendObjects.ts';
import { CopyError, type CopyTarget } from './targets/target.ts';

/** The objects that are encrypted or decrypted together; their files are in the data folder meanwhile. */
export const BATCH = { objects: 250, bytes: 134_217_728 };

/** What became of withheld and released objects in a copy. */
export interface Cleaned {
  /** Withheld objects that the copy had in the clear, and that it now has encrypted only. */
  withheld: number;
  /** Released objects that the copy had, and no longer has. */
  released: number;
  /** Withheld objects that are still in the clear there. */
  left: number;
  /** Whether older versions of what was removed or replaced may still be in the bucket. */
  hasVersions: boolean;
}

export const NOTHING_CLEANED: Cleaned = { withheld: 0, released: 0, left: 0, hasVersions: false };

interface SyncedCopy {
  copy: CopyRow;
  target: CopyTarget;
  files: CopyFiles;
  signal: AbortSignal;
}

/**
 * Withheld and released objects in a copy. Readers may look into a copy with pages, so it holds withheld objects encrypted
 * to the owner's key. An object that it had in the clear is removed last: after the encrypted one was read back, and after
 * no page shows anything of it any more. Everything follows from the state of the copy, so a sync that was killed is
 * continued by the next one.
 */
export class WithheldObjects {
  readonly #services: CopyServices;
  readonly #synced: SyncedCopy;
  #key: WithheldKey | undefined;
  /** Whether the copy has something in the clear that is to be removed. */
  #mustClean = false;
  readonly #cleaned: Cleaned = { ...NOTHING_CLEANED };

  constructor(services: CopyServices, synced: SyncedCopy) {
    this.#services = services;
    this.#synced = synced;
  }

  get #id(): string {
    return this.#synced.copy.id;
  }

  /** Whether a withheld object is kept encrypted in this copy: in one that readers look into, or that has it so. */
  encrypts(sha256: string): boolean {
    return this.#synced.copy.pages === 1 && isWithheld(this.#services.store.read, sha256);
  }

  /** Whether the copy has an object encrypted. */
  has(sha256: string): boolean {
    return this.#synced.files.has(encryptedPath(sha256));
  }

  /**
   * Lists what is there encrypted of this archive. It stays so in a copy without pages, and is not removed if this archive
   * has lost the bytes: they may be nowhere else.
   */
  async adopt(): Promise<void> {
    const { target, files, signal } = this.#synced;
    for await (const { path } of target.list(WITHHELD, signal)) {
      const sha256 = encryptedDigest(path);
      if (sha256 === undefined || blobBytes(this.#services.store.read, sha256) === undefined) continue;
      const found = await target.digestOf(path, signal);
      if (found) await files.adopt(path, found.sha256);
    }
  }

  /** Records that a sync begins. If the one before did not end, what it may have left in the clear is looked for. */
  async begin(): Promise<void> {
    const { store } = this.#services;
    const { copy, target, signal } = this.#synced;
    if (copy.is_sending === 1 && isAnythingUnreadable(store.read)) {
      const found: string[] = [];
      for await (const { path } of target.list(OBJECTS, signal)) {
        const sha256 = path.slice(OBJECTS.length);
        if (isCopied(store.read, copy.id, sha256)) continue;
        if (isWithheld(store.read, sha256) || releaseOf(store.read, sha256)) found.push(sha256);
      }
      await store.write((database) => insertCopiedObjects(database, copy.id, found));
    }
    await store.write((database) => setSending(database, { copy: copy.id, isSending: 1 }));
  }

  /**
   * Sends what is withheld encrypted, and gives up the encrypted form of what is not.
   *
   * @param show sends objects in the clear that are withheld no longer
   */
  async send(show: (digests: string[]) => Promise<void>): Promise<void> {
    const { copy, files } = this.#synced;
    for await (const digests of this.#pages(noLongerWithheld)) {
      const { read } = this.#services.store;
      await show(digests.filter((sha256) => !releaseOf(read, sha256)));
      await files.removeLater(
        // One that is damaged here stays encrypted until it is intact.
        digests
          .filter((sha256) => releaseOf(read, sha256) || isCopied(read, copy.id, sha256))
          .map(encryptedPath),
      );
    }
    const { read } = this.#services.store;
    this.#mustClean = isAnyReleasedInTheClear(read, { copy: copy.id });
    const mustEncrypt = copy.pages === 1 && isAnythingWithheld(read);
    if (!mustEncrypt && countEncrypted(read, { copy: copy.id }) === 0) return;
    await this.#ownKey();
    for await (const digests of this.inTheClear()) {
      this.#mustClean = true;
      await this.#restoreDamaged(digests);
    }
    await this.#encryptAnew();
    if (mustEncrypt) for await (const digests of this.#pages(notEncrypted)) await this.encrypt(digests);
  }

  /** Encrypts to the owner's key what is encrypted to another one. What only the copy has waits until its bytes are here. */
  async #encryptAnew(): Promise<void> {
    for await (const digests of this.#pages(encryptedToAnother)) {
      const onlyThere = new Set(await missingAmong(this.#services.store, digests));
      await this.encrypt(digests.filter((sha256) => !onlyThere.has(sha256)));
    }
  }

  /** Puts objects back that are damaged here and intact in the copy: what is damaged cannot be encrypted. */
  async #restoreDamaged(digests: readonly string[]): Promise<void> {
    const { store } = this.#services;
    const { target, signal } = this.#synced;
    for (const sha256 of digests.filter((each) => isDamaged(store.read, each))) {
      const stream = await target.read(objectPath(sha256), signal);
      if (stream) await restoreObject(store, sha256, stream as AsyncIterable<Buffer>);
    }
  }

  /** Yields the digests that a query finds. What was done with some may end that they are found. */
  async *#pages(find: typeof notEncrypted): AsyncGenerator<string[]> {
    for (let after = ''; ; ) {
      this.#synced.signal.throwIfAborted();
      const digests = find(this.#services.store.read, { copy: this.#id, after, limit: 1_000 });
      const last = digests.at(-1);
      if (last === undefined) return;
      yield digests;
      after = last;
    }
  }

  async #ownKey(): Promise<WithheldKey> {
    if (this.#key) return this.#key;
    const { store } = this.#services;
    const key = await withheldKey(store.folder);
    const { recipient } = copyById(store.read, this.#id) ?? {};
    if (recipient !== key.recipient)
      await store.write((database) => setRecipient(database, { copy: this.#id, recipient: key.recipient }));
    this.#key = key;
    return key;
  }

  /** Yields what the copy has encrypted and this archive has nowhere, although no damage of it is recorded. */
  async *missingHere(): AsyncGenerator<string> {
    for await (const digests of this.#pages(encryptedObjects))
      yield* await missingAmong(this.#services.store, digests);
  }

  /** Sends objects encrypted. Returns those that are damaged or missing here. */
  async encrypt(digests: readonly string[]): Promise<{ sent: string[]; damaged: string[] }> {
    const result = { sent: [] as string[], damaged: [] as string[] };
    const { recipient } = await this.#ownKey();
    for (const batch of inBatches(this.#services.store.read, digests, BATCH)) {
      const { sent, damaged } = await this.#encryptBatch(batch, recipient);
      result.sent.push(...sent);
      result.damaged.push(...damaged);
    }
    await this.#synced.files.flush();
    return result;
  }

  async #encryptBatch(batch: readonly string[], recipient: string) {
    const { store } = this.#services;
    const { files, signal } = this.#synced;
    const work = [];
    for (const sha256 of batch)
      work.push({ sha256, from: await this.#fileOf(sha256), to: workingFile(store.folder) });
    try {
      const results = await runAgeFiles(work, { recipient }, signal);
      const sent: string[] = [];
      for (const [index, { sha256, to }] of work.entries()) {
        const encrypted = results[index];
        if (!encrypted || encrypted === 'other_key') continue;
        await files.send({
          path: encryptedPath(sha256),
          payload: { file: to, size: encrypted.bytes, sha256: encrypted.sha256 },
          sha256: encrypted.sha256,
          type: 'application/octet-stream',
        });
        sent.push(sha256);
      }
      await files.sendBatch();
      return { sent, damaged: batch.filter((sha256) => !sent.includes(sha256)) };
    } finally {
      for (const { to } of work) await rm(to, { force: true });
    }
  }

  /**
   * Returns the file of an object on this disk. One that is offloaded comes back first: a copy that readers look into must
   * not be the only place of its bytes.
   */
  async #fileOf(sha256: string): Promise<string> {
    const { store } = this.#services;
    const { offloaded } = store.blobs;
    if (await offloaded.isOffloaded(sha256)) await restoreObject(store, sha256, offloaded.stream(sha256));
    return store.blobs.fileOf(sha256);
  }

  /** Yields withheld objects that the copy has in the clear: pages may show something of them. */
  async *inTheClear(): AsyncGenerator<string[]> {
    if (this.#synced.copy.pages === 1) yield* this.#pages(withheldInTheClear);
  }

  /** Whether pages are replaced that show something of what is removed. Their older versions must not stay. */
  get mustClean(): boolean {
    return this.#mustClean;
  }

  /** Removes the older versions of pages that were replaced. @throws CopyError */
  async forgetVersions(pages: readonly string[]): Promise<void> {
    if (!(await this.#synced.target.forgetVersions(pages))) this.#cleaned.hasVersions = true;
  }

  /**
   * Removes what may no longer be there in the clear, once no page shows it, and ends the sync.
   *
   * @throws CopyError if an encrypted object cannot be read back; the one in the clear then stays until the next sync
   */
  async finish(): Promise<Cleaned> {
    const { store } = this.#services;
    const { copy } = this.#synced;
    for await (const digests of this.#pages(releasedInTheClear)) {
      await this.#remove(digests);
      this.#cleaned.released += digests.length;
    }
    if (copy.pages === 1) {
      for await (const digests of this.#pages(toRemove))
        for (const batch of inBatches(this.#services.store.read, digests, BATCH))
          await this.#removeWithheld(batch);
      this.#cleaned.left = countWithheldInTheClear(store.read, { copy: copy.id });
    }
    await store.write((database) => setSending(database, { copy: copy.id, isSending: 0 }));
    return this.#cleaned;
  }

  async #removeWithheld(digests: readonly string[]): Promise<void> {
    const { store } = this.#services;
    const { target, files, signal } = this.#synced;
    const { identity } = await this.#ownKey();
    for (const sha256 of digests) await this.#fileOf(sha256);
    const objects = digests.map((sha256) => ({ sha256 }));
    const { intact } = await decryptObjects(target, objects, { folder: store.folder, identity, signal });
    const wrong = digests.filter((sha256) => !intact.has(sha256));
    await this.#remove([...intact]);
    await store.write((database) => addCleaned(database, this.#id, intact.size));
    this.#cleaned.withheld += intact.size;
    if (wrong.length === 0) return;
    // They are encrypted and sent again by the next sync.
    await files.removeLater(wrong.map(encryptedPath));
    throw new CopyError(
      `An encrypted object could not be read back from ${target.name}, so ${wrong.length} withheld ${wrong.length === 1 ? 'object is' : 'objects are'} still in the clear there. Sync again.`,
    );
  }

  async #remove(digests: readonly string[]): Promise<void> {
    const { store } = this.#services;
    if (!(await this.#synced.target.purge(digests.map(objectPath)))) this.#cleaned.hasVersions = true;
    await store.write((database) => {
      for (const sha256 of digests) deleteCopiedObject(database, this.#id, sha256);
    });
  }
}

/** Returns the objects that an archive has neither on its disk nor offloaded, and has not given up. */
export async function missingAmong(
  { read, blobs }: Pick<Store, 'read' | 'blobs'>,
  digests: readonly string[],
): Promise<string[]> {
  const missing: string[] = [];
  for (const sha256 of digests)
    if (
      !existsSync(blobs.fileOf(sha256)) &&
      !isReleased(read, sha256) &&
      !(await blobs.offloaded.isOffloaded(sha256))
    )
      missing.push(sha256);
  return missing;
}

/** Returns a name for a working file of a data folder. Each start of a node removes those that are left. */
function workingFile(folder: string): string {
  return join(temporaryFolder(folder), `withheld-${randomBytes(12).toString('hex')}`);
}

interface Reading {
  /** The data folder, for working files. */
  folder: string;
  identity: string;
  signal?: AbortSignal | undefined;
}

/** An object of a copy, and the file that it is decrypted into; without one, it is only checked. */
interface Encrypted {
  sha256: string;
  to?: string;
}

/**
 * Decrypts objects of a copy in one thread. Returns those that the copy holds encrypted to this identity and that have
 * their digest, and those that it holds encrypted to another key. No file but of the first is left.
 *
 * @throws CopyError
 */
export async function decryptObjects(
  target: CopyTarget,
  objects: readonly Encrypted[],
  { folder, identity, signal }: Reading,
): Promise<{ intact: Set<string>; otherKey: Set<string> }> {
  const files: (Encrypted & { from: string })[] = [];
  const intact = new Set<string>();
  const otherKey = new Set<string>();
  try {
    for (const object of objects) {
      const from = workingFile(folder);
      files.push({ ...object, from });
      if (!(await fetchEncrypted(target, object.sha256, from, signal))) files.pop();
    }
    const results = await runAgeFiles(files, { identity }, signal);
    for (const [index, { sha256 }] of files.entries())
      if (results[index]) (results[index] === 'other_key' ? otherKey : intact).add(sha256);
    return { intact, otherKey };
  } finally {
    for (const { sha256, from, to } of files) {
      await rm(from, { force: true });
      if (to !== undefined && !intact.has(sha256)) await rm(to, { force: true });
    }
  }
}

/** Reads an object of a copy, decrypted if it is encrypted there; undefined if it is neither. @throws CopyError */
export async function readObject(
  target: CopyTarget,
  folder: string,
  sha256: string,
  signal: AbortSignal,
): Promise<AsyncIterable<Buffer> | undefined> {
  const stream = await target.read(objectPath(sha256), signal);
  if (stream) return stream as AsyncIterable<Buffer>;
  const identity = await readIdentity(folder);
  return identity === undefined ? undefined : readEncrypted(target, sha256, { folder, identity, signal });
}

/** Yields an object that a copy holds encrypted; undefined if it does not. The bytes have the digest. @throws CopyError */
export async function readEncrypted(
  target: CopyTarget,
  sha256: string,
  reading: Reading,
): Promise<AsyncGenerator<Buffer> | undefined> {
  const file = workingFile(reading.folder);
  const { intact } = await decryptObjects(target, [{ sha256, to: file }], reading);
  if (intact.size === 0) return undefined;
  return (async function* () {
    try {
      yield* createReadStream(file) as AsyncIterable<Buffer>;
    } finally {
      await rm(file, { force: true });
    }
  })();
}

async function fetchEncrypted(
  target: CopyTarget,
  sha256: string,
  to: string,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  const stream = await target.read(encryptedPath(sha256), signal);
  if (!stream) return false;
  await pipeline(stream, createWriteStream(to, { mode: 0o600 }), { signal });
  return true;
}
