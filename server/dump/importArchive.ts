import { rename, rm } from 'node:fs/promises';
import type { Clock } from '../../shared/values/clock.ts';
import { DIGEST_PATTERN } from '../../shared/values/digest.ts';
import { parseManifest } from '../archive/packs/bag/manifest.ts';
import { tagFileLines } from '../archive/packs/bag/tagFileLines.ts';
import { openZip, type ZipMember } from '../archive/packs/zip/openZip.ts';
import { markRestoredWithoutBlobs } from '../fixity/confirmDamage.ts';
import { openArchive } from '../ledger/openArchive.ts';
import type { StagedBlob } from '../store/blobs/blobStore.ts';
import type { Store } from '../store/store.ts';
import { ARCHIVE_BAG } from './archiveBag.ts';
import type { DumpHead } from './checkDump.ts';
import { DumpError } from './dumpFile.ts';
import { restoreDump } from './restoreDump.ts';

/** No limit on size: the free space is checked while the files are written. */
const LIMITS = { maxEntries: 20_000_000, maxBytes: Number.MAX_SAFE_INTEGER };
const MAX_MANIFEST_BYTES = 256 * 1_048_576;

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
  const zip = await openZip(file, LIMITS);
  try {
    return await intoNewFolder(folder, clock, (store) => readBag(store, zip.members));
  } finally {
    await zip.close();
  }
}

/** Returns whether a ZIP holds an exported archive, not a pack. @throws Problem if the ZIP is malformed */
export async function isArchiveFile(file: string): Promise<boolean> {
  const zip = await openZip(file, LIMITS);
  try {
    return zip.members.some(({ name }) => name.endsWith(`/${ARCHIVE_BAG.dump}`));
  } finally {
    await zip.close();
  }
}

async function intoNewFolder<Result>(
  folder: string,
  clock: Clock,
  fill: (store: Store) => Promise<Result>,
): Promise<Result> {
  const partial = `${folder}.importing`;
  await rm(partial, { recursive: true, force: true });
  const { store } = await openArchive({ folder: partial, clock });
  let result: Result;
  try {
    result = await fill(store);
  } catch (error) {
    await store.close();
    await rm(partial, { recursive: true, force: true });
    throw error;
  }
  await store.close();
  // Replaces an empty folder. If the folder holds anything, this fails and changes nothing.
  await rename(partial, folder);
  return result;
}

async function readBag(store: Store, members: readonly ZipMember[]): Promise<DumpHead & { blobs: number }> {
  const files = new Map(members.filter(({ folder }) => !folder).map((member) => [member.name, member]));
  const [dumpName = ''] = [...files.keys()].filter((name) => name.endsWith(`/${ARCHIVE_BAG.dump}`));
  const top = dumpName.slice(0, -ARCHIVE_BAG.dump.length);
  const manifestMember = files.get(`${top}manifest-sha256.txt`);
  const dumpMember = files.get(dumpName);
  if (!manifestMember || !dumpMember)
    throw new DumpError('This is not an exported archive: its dump or its manifest is missing.');
  const manifest = 'manifest-sha256.txt';
  const lines = tagFileLines(manifest, manifestMember, MAX_MANIFEST_BYTES);
  const { digests } = await parseManifest(manifest, 'sha256', lines);
  for (const path of digests.keys()) {
    if (!files.has(top + path))
      throw new DumpError(`The archive is incomplete: ${JSON.stringify(path)} is missing.`);
  }
  const dump = await checked(
    dumpMember,
    digests.get(ARCHIVE_BAG.dump),
    await store.blobs.staging.stageFile(dumpMember.read(), dumpMember.bytes),
  );
  try {
    let blobs = 0;
    for (const [path, sha256] of digests) {
      const member = path.startsWith(ARCHIVE_BAG.blobs) ? files.get(top + path) : undefined;
      if (!member) continue;
      if (!DIGEST_PATTERN.test(sha256) || !path.endsWith(`/${sha256}`)) {
        throw new DumpError(`${JSON.stringify(path)} is not named by its digest.`);
      }
      const blob = await checked(
        member,
        sha256,
        await store.blobs.staging.stage(member.read(), member.bytes),
      );
      await blob.keep();
      // The rows that name the blob are written by `restoreDump`. If that fails, the whole folder is removed.
      await blob.leave();
      blobs += 1;
    }
    return { ...(await restoreDump(store, dump.file)), blobs };
  } finally {
    await dump.discard();
  }
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
