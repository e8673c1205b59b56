import { existsSync, mkdirSync, renameSync, statSync } from 'node:fs';
import { readdir, rename, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { isDigest } from '../../../shared/values/digestPattern.ts';
import { digestOf } from './digestOf.ts';
import { createFolder, syncFile, syncFolder } from './durableFile.ts';
import { isMissing, isUnreadable } from './fileErrors.ts';
import { blobPath, lostAndFoundFolder } from './paths.ts';
import { setAside } from './setAside.ts';

/** A file of `lost-and-found/`. */
export interface LostFile {
  /** Its name in `blobs/`. */
  sha256: string;
  bytes: number;
  /** Its file name: the digest, and after a dot the digest of its bytes if it differs, or a number if the name is taken. */
  name: string;
}

const DIGEST_LENGTH = 64;
/** The number of lookups in one turn of the event loop. */
const LOOKUPS_PER_TURN = 200;

/**
 * The folder `lost-and-found/`: blobs that no row references and that are not known to be leftovers of an interrupted
 * write. They appear after an older copy of the database was put back. A blob is moved back as soon as a row references
 * it. Nothing is ever deleted from this folder.
 */
export class LostAndFound {
  readonly #dataFolder: string;
  readonly #folder: string;
  /** Sizes by file name. */
  readonly #files = new Map<string, number>();
  /** Files whose bytes do not match their name. They are not read again at each commit. */
  readonly #mismatched = new Set<string>();

  constructor(dataFolder: string) {
    this.#dataFolder = dataFolder;
    this.#folder = lostAndFoundFolder(dataFolder);
  }

  /** Reads the list of files. */
  async open(): Promise<void> {
    for (const { name, bytes } of await lostFiles(this.#dataFolder)) this.#files.set(name, bytes);
  }

  get isEmpty(): boolean {
    return this.#files.size === 0;
  }

  /** The files, sorted by name. */
  list(): LostFile[] {
    return sortedByName([...this.#files].map(([name, bytes]) => ({ sha256: digestIn(name), bytes, name })));
  }

  /**
   * Moves a blob's file here; returns false if there is no such file. The rename is done synchronously.
   *
   * @param found the digest of its bytes if known, or `unreadable`.
   */
  async put(sha256: string, found = sha256): Promise<boolean> {
    const file = blobPath(this.#dataFolder, sha256);
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
    const name = this.#freeName(found === sha256 ? sha256 : `${sha256}.${found}`);
    try {
      renameSync(file, join(this.#folder, name));
    } catch (error) {
      if (isMissing(error)) return false;
      throw error;
    }
    this.#files.set(name, statSync(join(this.#folder, name)).size);
    for (const folder of [this.#folder, this.#dataFolder, dirname(file)]) await syncFolder(folder);
    return true;
  }

  /** Moves back every blob that a row references and whose bytes match its digest. */
  async restore(isReferenced: (sha256: string) => boolean): Promise<void> {
    for (const [index, name] of [...this.#files.keys()].entries()) {
      if (index % LOOKUPS_PER_TURN === LOOKUPS_PER_TURN - 1) await nextTurn();
      if (!this.#mismatched.has(name) && isReferenced(digestIn(name))) await this.#moveBack(name);
    }
  }

  async #moveBack(name: string): Promise<void> {
    const sha256 = digestIn(name);
    const file = join(this.#folder, name);
    const found = await digestOf(file).catch((error: unknown) => {
      if (isUnreadable(error)) return 'unreadable';
      throw error;
    });
    if (found === undefined) return void this.#files.delete(name);
    if (found !== sha256) return void this.#mismatched.add(name);
    const target = blobPath(this.#dataFolder, sha256);
    // An existing file has the same bytes, or damaged ones, which are preserved.
    await setAside(this.#dataFolder, sha256);
    await createFolder(dirname(target));
    await syncFile(file);
    await rename(file, target);
    for (const folder of [dirname(target), this.#folder]) await syncFolder(folder);
    this.#files.delete(name);
  }

  /** Appends a number if the name is taken: files here are never overwritten. */
  #freeName(wanted: string): string {
    let name = wanted;
    for (let number = 2; existsSync(join(this.#folder, name)); number += 1) name = `${wanted}.${number}`;
    return name;
  }
}

/** Lists the files of `lost-and-found/` that are named by a digest, sorted by name. */
export async function lostFiles(dataFolder: string): Promise<LostFile[]> {
  const folder = lostAndFoundFolder(dataFolder);
  const entries = await readdir(folder, { withFileTypes: true }).catch((error: unknown) => {
    if (isMissing(error)) return [];
    throw error;
  });
  const files: LostFile[] = [];
  for (const entry of entries) {
    const { name } = entry;
    const isBlob = isDigest(digestIn(name)) && (name.length === DIGEST_LENGTH || name[DIGEST_LENGTH] === '.');
    if (!entry.isFile() || !isBlob) continue;
    const bytes = await stat(join(folder, name)).then(
      ({ size }) => size,
      (error: unknown) => {
        if (isMissing(error)) return undefined;
        throw error;
      },
    );
    if (bytes !== undefined) files.push({ sha256: digestIn(name), bytes, name });
  }
  return sortedByName(files);
}

function sortedByName(files: LostFile[]): LostFile[] {
  return files.sort((left, right) => (left.name < right.name ? -1 : 1));
}

function digestIn(name: string): string {
  return name.slice(0, DIGEST_LENGTH);
}
