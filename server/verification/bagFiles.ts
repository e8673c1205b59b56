import { Problem } from '../../shared/problems.ts';
import type { ZippedBag } from './bagSources.ts';

/** Loaded when needed: they include the schemas of records, which take longer to load than many files to hash. */
export async function bagModules() {
  return { ...(await import('./bagSources.ts')), ...(await import('./verifyBag.ts')) };
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
export async function otherBag(
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
