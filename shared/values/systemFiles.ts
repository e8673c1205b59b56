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
/** macOS keeps attributes of a file beside it, on disks that cannot hold them. */
export const APPLE_DOUBLE = /(?:^|\/)\._[^/]+$/;
const APPLE_DOUBLE_MAGIC = '\0\x05\x16\x07\0\x02\0\0';
/**
 * Matches text with an element in it. Where a server names no type, browsers show as a page what begins as one. Data that
 * is no text has other bytes before anything that looks like an element.
 */
export const PAGE = /^[^\0-\x08\x0b\x0e-\x1a\x1c-\x1f]*<[a-z!?/]/i;
/** The beginning of an element: with it, a browser could show the file as a page if its name ends so. */
const MARKUP = /<[a-z!?/]/i;
/** How much of such a file is searched, of which browsers look at a few hundred bytes. One of macOS is no larger. */
export const MAX_SYSTEM_FILE_BYTES = 1_048_576;

/** Whether a file has a name that operating systems give. */
export function hasSystemName(path: string): boolean {
  return APPLE_DOUBLE.test(path) || SYSTEM.some(([name]) => name.test(path));
}

/**
 * Whether a file looks like one that an operating system adds, and that no server shows as a page. Anybody can write such a file.
 *
 * @param text its bytes, or those that it begins with, in ISO-8859-1
 */
export function isOfSystem(path: string, text: string): boolean {
  if (APPLE_DOUBLE.test(path)) return text.startsWith(APPLE_DOUBLE_MAGIC) && !MARKUP.test(text);
  return SYSTEM.some(([name, beginning]) => name.test(path) && beginning.test(text)) && !PAGE.test(text);
}
