import { buffer } from 'node:stream/consumers';
import {
  APPLE_DOUBLE,
  hasSystemName,
  isOfSystem,
  MAX_SYSTEM_FILE_BYTES,
  PAGE,
} from '../../shared/values/systemFiles.ts';
import { type CopyTarget, InvalidCopyError, readBytes } from './targets/target.ts';

/** What a sync that was killed leaves in the folder of a copy. */
const UNFINISHED = /^\.partial-[0-9a-f]{16}-\d+$/;

/**
 * Whether a file looks like one that an operating system or a killed sync leaves in a folder, and that no server shows as a page.
 * Anybody can write such a file. In a bucket there is none, because neither writes there under these names.
 *
 * @throws CopyError
 */
export async function isLeftBehind(target: CopyTarget, path: string): Promise<boolean> {
  if (!target.isFolder) return false;
  if (UNFINISHED.test(path)) return !PAGE.test(await beginningOf(target, path));
  if (!APPLE_DOUBLE.test(path))
    return hasSystemName(path) && isOfSystem(path, await beginningOf(target, path));
  try {
    const bytes = await readBytes(target, path, MAX_SYSTEM_FILE_BYTES);
    return bytes !== undefined && isOfSystem(path, bytes.toString('latin1'));
  } catch (error) {
    if (error instanceof InvalidCopyError) return false;
    throw error;
  }
}

async function beginningOf(target: CopyTarget, path: string): Promise<string> {
  const stream = await target.read(path, undefined, { start: 0, end: MAX_SYSTEM_FILE_BYTES - 1 });
  return stream ? (await buffer(stream)).toString('latin1') : '';
}
