import { Problem } from '../../shared/problems.ts';
import type { BagFile } from '../archive/packs/bag/bagCheck.ts';
import { ARCHIVE_BAG, PAYLOAD_FOLDER } from '../archive/packs/bag/tagFiles.ts';
import type { ZippedBag } from './bagSources.ts';
import type { VerifyContext } from './plainFiles.ts';
import { lookUp } from './referenceArchive.ts';
import { type Finding, finding } from './report.ts';
import type { BagSource } from './verifyBag.ts';
import { isDump, verifyDump } from './verifyDump.ts';

/** Verifies a bag in a folder. */
export async function* folderBagFindings(path: string, context: VerifyContext): AsyncGenerator<Finding[]> {
  const { openFolderBag, verifyBag } = await bagModules();
  const bag = await openFolderBag(path, context.read);
  for (const { bytes } of bag.files.values()) context.found(bytes);
  for await (const found of verifyBag(bag)) yield [await completed(bag, found, context)];
}

/** Verifies a pack file of this size. */
export function packFileFindings(
  path: string,
  bytes: number,
  context: VerifyContext,
): AsyncGenerator<Finding[]> {
  const open = async () => (await bagModules()).openPackFileBag(path, context.read);
  return zippedBagFindings(path, bytes, open, context);
}

/** Verifies the bag in a ZIP of this size, and closes it. */
export async function* zippedBagFindings(
  path: string,
  bytes: number,
  open: () => Promise<ZippedBag>,
  context: VerifyContext,
): AsyncGenerator<Finding[]> {
  context.found(bytes);
  const { verifyBag } = await bagModules();
  try {
    const bag = await open();
    try {
      for await (const found of verifyBag(bag)) yield [await completed(bag, found, context)];
    } finally {
      await bag.close();
    }
  } catch (error) {
    if (error instanceof Problem)
      yield [finding(path, 'changed', { detail: `${error.message} (${error.code})` })];
    else if (error instanceof Error && 'syscall' in error && 'code' in error)
      yield [finding(path, 'unknown', { detail: `cannot be read: ${String(error.code)}` })];
    else throw error;
  }
}

/** Returns whether a file is a pack file, by its name or by the record in it. */
export async function isPackFile(path: string): Promise<boolean> {
  if (path.endsWith('.pack.zip')) return true;
  if (!/\.zip$/i.test(path)) return false;
  const { openPackFileBag } = await bagModules();
  const bag = await openPackFileBag(path, () => {}).catch(() => undefined);
  await bag?.close();
  return bag !== undefined;
}

/** Opens a ZIP that holds a bag and no pack: an exported archive, or a bag of other software. */
export async function openOtherBag(
  path: string,
  onProgress: (bytes: number) => void,
): Promise<ZippedBag | undefined> {
  if (!/\.zip$/i.test(path)) return undefined;
  const { openZippedBag } = await bagModules();
  return openZippedBag(path, onProgress).catch((error: unknown) => {
    // A malformed ZIP is verified as a plain file.
    if (error instanceof Problem) return undefined;
    throw error;
  });
}

/** Loaded when needed: they include the schemas of records, which take longer to load than many files to hash. */
async function bagModules() {
  return { ...(await import('./bagSources.ts')), ...(await import('./verifyBag.ts')) };
}

/** Looks up payload files only: an archive does not store the tag files of a pack. */
async function completed(bag: BagSource, found: Finding, { holder }: VerifyContext): Promise<Finding> {
  const verified = await withDump(bag, found);
  const name = verified.path.slice(bag.path.length + 1);
  const bytes = bag.files.get(name)?.bytes;
  return name.startsWith(PAYLOAD_FOLDER) && bytes !== undefined ? lookUp(holder, verified, bytes) : verified;
}

/** Also verifies the dump in an exported archive by itself, which detects a dump changed together with the manifests. */
async function withDump({ path, folderName, files }: BagSource, found: Finding): Promise<Finding> {
  const dump = files.get(ARCHIVE_BAG.dump);
  if (!dump || found.state !== 'intact' || found.path !== `${path}/${ARCHIVE_BAG.dump}`) return found;
  // A bag of other software may hold a file with this name.
  if (folderName !== ARCHIVE_BAG.folder && !isDump(await beginningOf(dump))) return found;
  const ofDump = await verifyDump(found.path, dump.read(), () => {});
  return ofDump.state === 'intact' ? found : { ...found, ...ofDump, sha256: found.sha256 };
}

async function beginningOf(file: BagFile): Promise<string> {
  for await (const chunk of file.read()) return Buffer.from(chunk).toString('utf8');
  return '';
}
