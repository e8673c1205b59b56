import { existsSync } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { Problem } from '../../shared/problems.ts';
import type { Clock } from '../../shared/values/clock.ts';
import { DIGEST_PATTERN } from '../../shared/values/digest.ts';
import { type ManifestLine, manifestLines } from '../archive/packs/bag/bagCheck.ts';
import { ARCHIVE_BAG, MANIFEST_FILE, tagFileLines } from '../archive/packs/bag/tagFiles.ts';
import { findAllSets } from '../archive/sets/readSet.ts';
import { markRestoredWithoutBlobs } from '../fixity/audit.ts';
import { openArchive } from '../ledger/openArchive.ts';
import type { StagedBlob, StagedFile } from '../store/blobs/blobStore.ts';
import { blobPath, syncFolder } from '../store/files.ts';
import { iterateBlobRows } from '../store/sqlite/node/blobs.ts';
import type { Store } from '../store/store.ts';
import { hasMember, type LargeZip, openLargeZip, type ZipMember } from '../zip/openZip.ts';
import type { DumpHead } from './checkDump.ts';
import { DumpError } from './dumpFile.ts';
import { restoreDump } from './restoreDump.ts';

/** Creates a data folder from a dump. The folder gets its name only after everything in it was verified. */
export function importDump(folder: string, file: string, clock: Clock): Promise<DumpHead> {
  return intoNewFolder(folder, clock, async (store) => {
    const head = await restoreDump(store, file);
    await markRestoredWithoutBlobs(store);
    return head;
  });
}

/**
 * Creates a data folder from a file that `exportArchive` wrote. Every blob must have the digest that it is named by, and
 * every file in the manifest must be present.
 *
 * @throws DumpError; Problem if the ZIP is malformed
 */
export async function importArchive(
  folder: string,
  file: string,
  clock: Clock,
): Promise<DumpHead & { blobs: number }> {
  const zip = await openLargeZip(file);
  try {
    return await intoNewFolder(folder, clock, (store) => readBag(store, zip));
  } finally {
    await zip.close();
  }
}

/** Returns whether a ZIP holds an exported archive, not a pack. @throws Problem if it has no valid directory */
export function isArchiveFile(file: string): Promise<boolean> {
  return hasMember(file, (name) => name.endsWith(`/${ARCHIVE_BAG.dump}`));
}

/** Fills a data folder under another name. Nothing is left if any step fails. */
async function intoNewFolder<Result>(
  folder: string,
  clock: Clock,
  fill: (store: Store) => Promise<Result>,
): Promise<Result> {
  const partial = `${folder}.importing`;
  await rm(partial, { recursive: true, force: true });
  try {
    const { store } = await openArchive({ folder: partial, clock });
    let result: Result;
    try {
      result = await fill(store);
    } finally {
      await store.close();
    }
    // Replaces an empty folder. If the folder holds anything, this fails and changes nothing.
    await rename(partial, folder);
    await syncFolder(dirname(folder));
    return result;
  } catch (error) {
    await rm(partial, { recursive: true, force: true });
    throw error;
  }
}

/**
 * Reads the files of a bag in the order in which they are in the ZIP. Each is looked up in the manifest, which is read
 * along with them, so memory does not grow with their number if both have the same order, as exports have.
 */
async function readBag(store: Store, zip: LargeZip): Promise<DumpHead & { blobs: number }> {
  const { top, manifest } = await findManifest(zip);
  let dump: StagedFile | undefined;
  let blobs = 0;
  try {
    for await (const member of zip.members()) {
      const path = member.name.startsWith(top) ? member.name.slice(top.length) : '';
      const isDump = path === ARCHIVE_BAG.dump;
      if (member.folder || !(isDump || path.startsWith(ARCHIVE_BAG.payload))) continue;
      const sha256 = await manifest.take(path);
      if (sha256 === undefined) continue;
      if (isDump)
        dump = await checked(
          member,
          sha256,
          await store.blobs.staging.stageFile(member.read(), member.bytes),
        );
      else if (path.startsWith(ARCHIVE_BAG.blobs)) {
        await importBlob(store, member, sha256);
        blobs += 1;
      }
    }
    const left = await manifest.first();
    if (left !== undefined) await refuseLeft(zip, top, left);
    if (!dump) throw notAnArchive();
    const head = await restoreDump(store, dump.file);
    requireBlobs(store);
    await requireNamed(store, zip, { top, blobs });
    await findAllSets(store);
    return { ...head, blobs };
  } finally {
    await dump?.discard();
  }
}

/** Requires the bytes of every blob that the records name: the manifest may have lost a file and its line. */
function requireBlobs({ read, folder }: Store): void {
  for (const { sha256 } of iterateBlobRows(read))
    if (!existsSync(blobPath(folder, sha256)))
      throw new DumpError(`The archive is incomplete: the bytes of ${sha256} are missing.`);
}

/** Requires that a record names each of the blobs: anybody can put one there, named by its digest. @throws DumpError */
async function requireNamed(
  { read }: Store,
  zip: LargeZip,
  { top, blobs }: { top: string; blobs: number },
): Promise<void> {
  let named = 0;
  for (const _ of iterateBlobRows(read)) named += 1;
  // Each of them is there.
  if (named === blobs) return;
  const known = new Set<string>();
  for (const { sha256 } of iterateBlobRows(read)) known.add(sha256);
  for await (const { name, folder } of zip.members())
    if (!folder && name.startsWith(top + ARCHIVE_BAG.blobs) && !known.has(basename(name)))
      throw new DumpError(`${JSON.stringify(name)} is no part of the archive: no record names it.`);
}

/** Refuses a line of the manifest that no file was left for. @throws DumpError; Problem if the file is listed twice */
async function refuseLeft(zip: LargeZip, top: string, path: string): Promise<never> {
  for await (const { name } of zip.members()) if (name === top + path) throw listedTwice(path);
  throw new DumpError(`The archive is incomplete: ${JSON.stringify(path)} is missing.`);
}

function listedTwice(path: string): Problem {
  return new Problem('manifest_mismatch', `${MANIFEST_FILE} lists ${JSON.stringify(path)} twice.`);
}

function notAnArchive(): DumpError {
  return new DumpError('This is not an exported archive: its dump or its manifest is missing.');
}

/** Returns the folder of the bag in the ZIP, and its manifest. */
async function findManifest(zip: LargeZip): Promise<{ top: string; manifest: ListedFiles }> {
  const manifests = new Map<string, ZipMember>();
  let top: string | undefined;
  for await (const member of zip.members()) {
    const { name } = member;
    if (name.endsWith(`/${ARCHIVE_BAG.dump}`)) top ??= name.slice(0, -ARCHIVE_BAG.dump.length);
    if (name.endsWith(`/${MANIFEST_FILE}`) && !name.includes(`/${ARCHIVE_BAG.payload}`))
      manifests.set(name, member);
  }
  const member = top === undefined ? undefined : manifests.get(`${top}${MANIFEST_FILE}`);
  if (top === undefined || !member) throw notAnArchive();
  return { top, manifest: new ListedFiles(member) };
}

/** The files of a manifest, which is read only as far as files were asked for. */
class ListedFiles {
  readonly #lines: AsyncGenerator<ManifestLine>;
  /** The lines that were read in the search for others. */
  readonly #passed = new Map<string, string>();

  constructor(member: ZipMember) {
    const lines = tagFileLines(MANIFEST_FILE, member, Number.MAX_SAFE_INTEGER);
    this.#lines = manifestLines(MANIFEST_FILE, 'sha256', lines);
  }

  /** Removes a file from the list and returns its digest; undefined if it is not listed. */
  async take(path: string): Promise<string | undefined> {
    const passed = this.#passed.get(path);
    if (passed !== undefined) {
      this.#passed.delete(path);
      return passed;
    }
    for (let step = await this.#lines.next(); !step.done; step = await this.#lines.next()) {
      const { path: listed, digest } = step.value;
      if (listed === path) return digest;
      if (this.#passed.has(listed)) throw listedTwice(listed);
      this.#passed.set(listed, digest);
    }
    return undefined;
  }

  /** Returns a path that was not taken. */
  async first(): Promise<string | undefined> {
    const [passed] = this.#passed.keys();
    return passed ?? (await this.#lines.next()).value?.path;
  }
}

async function importBlob(store: Store, member: ZipMember, sha256: string): Promise<void> {
  if (!DIGEST_PATTERN.test(sha256) || !member.name.endsWith(`/${sha256}`)) {
    throw new DumpError(`${JSON.stringify(member.name)} is not named by its digest.`);
  }
  const blob = await checked(member, sha256, await store.blobs.staging.stage(member.read(), member.bytes));
  await blob.keep();
  // The rows that name the blob are written by `restoreDump`. If that fails, the whole folder is removed.
  await blob.leave();
}

/** Discards a staged file whose digest differs from the manifest. @throws DumpError */
async function checked<Staged extends StagedBlob>(
  member: ZipMember,
  sha256: string | undefined,
  staged: Staged,
): Promise<Staged> {
  if (staged.sha256 === sha256) return staged;
  await staged.discard();
  throw new DumpError(
    `${JSON.stringify(member.name)} was altered: its bytes do not have the digest in the manifest.`,
  );
}
