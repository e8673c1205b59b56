import { existsSync, mkdirSync, renameSync, statSync } from 'node:fs';
import { readdir, rename, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { isDigest } from '../../../shared/digest.ts';
import { digestOf } from './digestOf.ts';
import { createFolder, syncFile, syncFolder } from './durableFile.ts';
import { isMissing, isUnreadable } from './fileErrors.ts';
import { blobPath, lostAndFoundFolder } from './paths.ts';
import { setAside } from './setAside.ts';

/** A file of `lost-and-found/`. */
export interface LostFile {
  /** The digest that it was named by in `blobs/`. */
  sha256: string;
  bytes: number;
  /** Its name in the folder: the digest, and something after a dot where its bytes are others or it is a second one. */
  name: string;
}

const DIGEST_LENGTH = 64;
/** So many names are looked up in one turn of the event loop. */
const IN_ONE_TURN = 200;

/**
 * `lost-and-found/`: blobs that no row names and that are not known to be the leftover of an interrupted write, as after
 * an older copy of the database was put back. As soon as a row names one it is taken back. Nothing here ever deletes one.
 */
export class LostAndFound {
  readonly #dataFolder: string;
  readonly #folder: string;
  /** Sizes by names. */
  readonly #files = new Map<string, number>();
  /** Files whose bytes were seen not to be those of the name: they are not read at every commit. */
  readonly #others = new Set<string>();

  constructor(dataFolder: string) {
    this.#dataFolder = dataFolder;
    this.#folder = lostAndFoundFolder(dataFolder);
  }

  /** Reads which files there are. */
  async open(): Promise<void> {
    for (const { name, bytes } of await lostFiles(this.#dataFolder)) this.#files.set(name, bytes);
  }

  get isEmpty(): boolean {
    return this.#files.size === 0;
  }

  /** All there is, by names. */
  list(): LostFile[] {
    return sortedByName([...this.#files].map(([name, bytes]) => ({ sha256: digestIn(name), bytes, name })));
  }

  /**
   * Moves a blob's file here, before it first waits for anything; false where there is no such file.
   *
   * @param found the digest of its bytes where it is known, or that they cannot be read.
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

  /** Takes back every blob that a row names by now and whose bytes are right. */
  async takeBack(isNamed: (sha256: string) => boolean): Promise<void> {
    for (const [index, name] of [...this.#files.keys()].entries()) {
      if (index % IN_ONE_TURN === IN_ONE_TURN - 1) await nextTurn();
      if (!this.#others.has(name) && isNamed(digestIn(name))) await this.#takeBack(name);
    }
  }

  async #takeBack(name: string): Promise<void> {
    const sha256 = digestIn(name);
    const file = join(this.#folder, name);
    const found = await digestOf(file).catch((error: unknown) => {
      if (isUnreadable(error)) return 'unreadable';
      throw error;
    });
    if (found === undefined) return void this.#files.delete(name);
    if (found !== sha256) return void this.#others.add(name);
    const target = blobPath(this.#dataFolder, sha256);
    // What lies there is the same bytes, or damaged ones, which keep a name of their own.
    await setAside(this.#dataFolder, sha256);
    await createFolder(dirname(target));
    await syncFile(file);
    await rename(file, target);
    for (const folder of [dirname(target), this.#folder]) await syncFolder(folder);
    this.#files.delete(name);
  }

  /** Nothing that lies here is ever written over. */
  #freeName(wanted: string): string {
    let name = wanted;
    for (let number = 2; existsSync(join(this.#folder, name)); number += 1) name = `${wanted}.${number}`;
    return name;
  }
}

/** The files of `lost-and-found/` that are named by a digest, by names. */
export async function lostFiles(dataFolder: string): Promise<LostFile[]> {
  const folder = lostAndFoundFolder(dataFolder);
  const entries = await readdir(folder, { withFileTypes: true }).catch((error: unknown) => {
    if (isMissing(error)) return [];
    throw error;
  });
  const files: LostFile[] = [];
  for (const entry of entries) {
    const { name } = entry;
    const isNamed =
      isDigest(digestIn(name)) && (name.length === DIGEST_LENGTH || name[DIGEST_LENGTH] === '.');
    if (!entry.isFile() || !isNamed) continue;
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
