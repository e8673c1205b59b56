import { buffer } from 'node:stream/consumers';
import { type CopyTarget, InvalidCopyError, readBytes } from './targets/target.ts';

/** What a sync that was killed leaves in the folder of a copy. */
const UNFINISHED = /^\.partial-[0-9a-f]{16}-\d+$/;
/** What file managers leave, with how each begins. No server gives these names a type that a browser shows. */
const SYSTEM: readonly [name: RegExp, beginning: RegExp][] = [
  [/(?:^|\/)\.DS_Store$/, /^\0\0\0\x01Bud1/],
  [/(?:^|\/)Thumbs\.db$/, /^\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1/],
  // In UTF-16, or in an encoding with one byte per letter.
  [
    /(?:^|\/)desktop\.ini$/,
    /^(?:\xff\xfe|\xef\xbb\xbf)?(?:\s\0?)*\[\0?\.\0?S\0?h\0?e\0?l\0?l\0?C\0?l\0?a\0?s\0?s\0?I\0?n\0?f\0?o\0?\]/i,
  ],
];
/**
 * Matches text with an element in it. Where a server names no type, browsers show as a page what begins as one. Data that
 * is no text has other bytes before anything that looks like an element.
 */
const PAGE = /^[^\0-\x08\x0b\x0e-\x1a\x1c-\x1f]*<[a-z!?/]/i;
/** How much of such a file is searched, of which browsers look at a few hundred bytes. */
const SEARCHED_BYTES = 1_048_576;
/** macOS keeps attributes of a file beside it, on disks that cannot hold them. */
const APPLE_DOUBLE = /(?:^|\/)\._[^/]+$/;
const APPLE_DOUBLE_MAGIC = Buffer.from([0x00, 0x05, 0x16, 0x07, 0x00, 0x02, 0x00, 0x00]);
const MAX_APPLE_DOUBLE_BYTES = 1_048_576;
/** The beginning of an element: with it, a browser could show the file as a page if its name ends so. */
const MARKUP = /<[a-z!?/]/i;

/**
 * Whether a file looks like one that an operating system or a killed sync leaves in a folder, and that no server shows as a page.
 * Anybody can write such a file. In a bucket there is none, because neither writes there under these names.
 *
 * @throws CopyError
 */
export async function isLeftBehind(target: CopyTarget, path: string): Promise<boolean> {
  if (!target.isFolder) return false;
  const [, beginning] = SYSTEM.find(([name]) => name.test(path)) ?? [];
  if (beginning !== undefined || UNFINISHED.test(path)) {
    const text = await beginningOf(target, path);
    return !PAGE.test(text) && beginning?.test(text) !== false;
  }
  if (!APPLE_DOUBLE.test(path)) return false;
  try {
    const bytes = await readBytes(target, path, MAX_APPLE_DOUBLE_BYTES);
    if (!bytes?.subarray(0, APPLE_DOUBLE_MAGIC.length).equals(APPLE_DOUBLE_MAGIC)) return false;
    return !MARKUP.test(bytes.toString('latin1'));
  } catch (error) {
    if (error instanceof InvalidCopyError) return false;
    throw error;
  }
}

async function beginningOf(target: CopyTarget, path: string): Promise<string> {
  const stream = await target.read(path, undefined, { start: 0, end: SEARCHED_BYTES - 1 });
  return stream ? (await buffer(stream)).toString('latin1') : '';
}
