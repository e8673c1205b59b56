import { rename, rm } from 'node:fs/promises';
import type { Clock } from '../../shared/clock.ts';
import { DIGEST_PATTERN } from '../../shared/digest.ts';
import { parseManifest } from '../archive/packs/bag/manifest.ts';
import { tagFileLines } from '../archive/packs/bag/tagFileLines.ts';
import { openZip, type ZipMember } from '../archive/packs/zip/openZip.ts';
import { markRestoredWithoutBlobs } from '../fixity/confirmDamage.ts';
import { openArchive } from '../ledger/openArchive.ts';
import type { StagedBlob } from '../store/blobs/blobStore.ts';
import type { Store } from '../store/store.ts';
import type { DumpHead } from './checkDump.ts';
import { DumpError } from './dumpFile.ts';
import { ARCHIVE_BAG } from './exportArchive.ts';
import { restoreDump } from './restoreDump.ts';

/** How large an archive is taken: what a ZIP of ours can declare is checked against the disk as it is written. */
const LIMITS = { maxEntries: 20_000_000, maxBytes: Number.MAX_SAFE_INTEGER };
const MAX_MANIFEST_BYTES = 256 * 1_048_576;

/** Makes a new data folder of a dump. The folder appears under its name only when all of it is there and verified. */
export function importDump(folder: string, file: string, clock: Clock): Promise<DumpHead> {
  return intoNewFolder(folder, clock, async (store) => {
    const head = await restoreDump(store, file);
    await markRestoredWithoutBlobs(store);
    return head;
  });
}

/**
 * Makes a new data folder of a whole archive: a bag as `exportArchive` writes it. Every blob must have the digest it is
 * named by, and every file of the manifest must be there.
 *
 * @throws DumpError with a sentence; Problem for what no ZIP of ours is.
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

/** Whether a ZIP is a whole archive, and not a pack. @throws Problem for what no ZIP of ours is. */
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
  // An empty folder may stand there; one that holds anything makes this fail and stays as it is.
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
    throw new DumpError('This is no archive: its dump or its manifest is missing.');
  const manifest = 'manifest-sha256.txt';
  const lines = tagFileLines(manifest, manifestMember, MAX_MANIFEST_BYTES);
  const { digests } = await parseManifest(manifest, 'sha256', lines);
  for (const path of digests.keys()) {
    if (!files.has(top + path))
      throw new DumpError(`The archive is not whole: ${JSON.stringify(path)} is missing.`);
  }
  const dump = await checked(
    dumpMember,
    digests.get(ARCHIVE_BAG.dump),
    await store.blobs.stageFile(dumpMember.read(), dumpMember.bytes),
  );
  try {
    let blobs = 0;
    for (const [path, sha256] of digests) {
      const member = path.startsWith(ARCHIVE_BAG.blobs) ? files.get(top + path) : undefined;
      if (!member) continue;
      if (!DIGEST_PATTERN.test(sha256) || !path.endsWith(`/${sha256}`)) {
        throw new DumpError(`${JSON.stringify(path)} is not named by its digest.`);
      }
      const blob = await checked(member, sha256, await store.blobs.stage(member.read(), member.bytes));
      await blob.keep();
      // The rows come when the dump is read back; if they do not, the whole folder goes.
      await blob.leave();
      blobs += 1;
    }
    return { ...(await restoreDump(store, dump.file)), blobs };
  } finally {
    await dump.discard();
  }
}

/** @throws DumpError where the bytes are not those of the manifest; they are discarded. */
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
