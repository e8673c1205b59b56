/*
 * What the command and the page Verify require of ZIP files, so that every program extracts the files that were verified.
 * The numbers are those of APPNOTE, of Info-ZIP's extrafld.txt and of libarchive.
 */

/** The extra field with sizes of 64 bits. */
export const ZIP64_FIELD = 0x0001;
/** The extra field of Info-ZIP that repeats the name in UTF-8, after a version and a CRC. */
export const UNICODE_PATH = 0x7075;
export const UNICODE_PATH_HEADER = 5;
/** Bit 0: encrypted. Bit 6: strong encryption. Bit 13: masked names and sizes. */
export const ENCRYPTION_FLAGS = 0x2041;
/** The name is UTF-8. */
export const UTF8_FLAG = 0x0800;

/**
 * The extra fields that change nothing but times, owners and alignment. Others can make a link of a file in the programs
 * that know them (0x756e, 0x000d, 0x6c78), and the next program may know one that nobody has thought of.
 */
export const HARMLESS_FIELDS: ReadonlySet<number> = new Set([
  ZIP64_FIELD,
  UNICODE_PATH,
  // Times: of NTFS, of Info-ZIP, and of Info-ZIP of before with owners.
  0x000a,
  0x5455,
  0x5855,
  // Owners on Unix.
  0x7855,
  0x7875,
  // A comment in UTF-8.
  0x6375,
  // Marks and padding: of JAR files, of Android, of Microsoft's office files.
  0xcafe,
  0xd935,
  0xa11e,
  0xa220,
]);

const MADE_ON_UNIX: ReadonlySet<number> = new Set([3, 19]);

/**
 * Whether other programs read the bytes of a name as UTF-8: they do if it is ASCII or the entry says so, and without that
 * only if it was made on Unix. From elsewhere, it is in the code page of a system.
 *
 * @param madeBy the field “version made by”
 */
export function isReadAsUtf8(
  name: Uint8Array,
  { flags, madeBy, hasUnicodePath }: { flags: number; madeBy: number; hasUnicodePath: boolean },
): boolean {
  const isSaid = (flags & UTF8_FLAG) !== 0 || hasUnicodePath || MADE_ON_UNIX.has(madeBy >>> 8);
  return isSaid || name.every((byte) => byte < 0x80);
}
