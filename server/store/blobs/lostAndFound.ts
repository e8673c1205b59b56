import { constants, existsSync, mkdirSync, renameSync, statSync } from 'node:fs';
import { copyFile, link, readdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { isDigest } from '../../../shared/values/digestPattern.ts';
import { errorCode } from '../../../shared/values/errorCode.ts';
import { yieldToEventLoop } from '../../runtime/background.ts';
import {
  blobPath,
  createFolder,
  digestOf,
  isMissing,
  isUnreadable,
  lostAndFoundFolder,
  orIfMissing,
  syncFile,
  syncFolder,
} from '../files.ts';

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
 * it. Nothing is deleted from this folder but bytes that were given up.
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
    if (!existsSync(file)) return false;
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
      if (index % LOOKUPS_PER_TURN === LOOKUPS_PER_TURN - 1) await yieldToEventLoop();
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

  /** Deletes every file of a blob that was given up, and every file that has its bytes. */
  async remove(sha256: string): Promise<void> {
    const names = [...this.#files.keys()].filter((name) => name.includes(sha256));
    if (names.length === 0) return;
    for (const name of names) {
      await rm(join(this.#folder, name), { force: true });
      this.#files.delete(name);
    }
    await syncFolder(this.#folder);
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
  const entries = await orIfMissing(readdir(folder, { withFileTypes: true }), []);
  const files: LostFile[] = [];
  for (const entry of entries) {
    const { name } = entry;
    const isBlob = isDigest(digestIn(name)) && (name.length === DIGEST_LENGTH || name[DIGEST_LENGTH] === '.');
    if (!entry.isFile() || !isBlob) continue;
    const stats = await orIfMissing(stat(join(folder, name)), undefined);
    if (stats) files.push({ sha256: digestIn(name), bytes: stats.size, name });
  }
  return sortedByName(files);
}

function sortedByName(files: LostFile[]): LostFile[] {
  return files.sort((left, right) => (left.name < right.name ? -1 : 1));
}

function digestIn(name: string): string {
  return name.slice(0, DIGEST_LENGTH);
}

/** Errors of file systems without hard links. */
const NO_LINKS = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK']);

/**
 * Links a damaged blob's file into `damaged/`, named `<digest of the blob>.<digest of the bytes>`, so that the correct
 * bytes can replace it without losing the damaged ones. Only what was set aside of bytes that were given up is removed.
 */
export async function setAside(dataFolder: string, sha256: string): Promise<void> {
  const file = blobPath(dataFolder, sha256);
  const found = await digestOf(file).catch(() => 'unreadable');
  if (found === undefined || found === sha256) return;
  const folder = damagedFolder(dataFolder);
  await createFolder(folder);
  await linkOrCopy(file, join(folder, `${sha256}.${found}`));
  await syncFolder(folder);
}

function damagedFolder(dataFolder: string): string {
  return join(dataFolder, 'damaged');
}

/** Removes what was set aside of a blob, and what has its bytes. */
export async function removeSetAside(dataFolder: string, sha256: string): Promise<void> {
  const folder = damagedFolder(dataFolder);
  const names = (await orIfMissing(readdir(folder), [])).filter((name) => name.includes(sha256));
  if (names.length === 0) return;
  for (const name of names) await rm(join(folder, name), { force: true });
  await syncFolder(folder);
}

async function linkOrCopy(from: string, to: string): Promise<void> {
  try {
    await link(from, to);
  } catch (error) {
    const code = errorCode(error) ?? '';
    // The same damaged bytes were linked before, or the file was removed meanwhile.
    if (code === 'EEXIST' || isMissing(error)) return;
    if (!NO_LINKS.has(code)) throw error;
    await copyFile(from, to, constants.COPYFILE_FICLONE);
  }
}
