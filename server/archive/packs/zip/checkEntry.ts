import type { Entry } from 'yauzl';
import { refuse } from './readBytesAt.ts';

const STORED = 0;
const DEFLATED = 8;
const AES = 99;
/** Bit 0: encrypted. Bit 6: strong encryption. Bit 13: masked names and sizes. */
export const ENCRYPTION_FLAGS = 0x2041;
/** Extra fields of strong encryption and of AES. */
const ENCRYPTION_FIELDS: ReadonlySet<number> = new Set([0x0014, 0x0015, 0x0016, 0x0017, 0x0019, 0x9901]);

/** File types in the upper four bits of a Unix mode; 0 if the ZIP has no Unix modes. */
const TYPE_NONE = 0o00;
const TYPE_FOLDER = 0o04;
const TYPE_FILE = 0o10;
const TYPE_SYMLINK = 0o12;
/** Windows marks symbolic links and junctions as reparse points. */
const REPARSE_POINT = 0x400;
const MAKERS_WITH_WINDOWS_ATTRIBUTES: ReadonlySet<number> = new Set([0, 10, 11, 14]);

/** Deflate expands one byte to at most 1032. Nearly empty entries may have a few bytes more. */
const MAX_DEFLATE_RATIO = 1032;
const SMALL_ENTRY = 64;

/**
 * Checks the directory record of an entry, before its data is read.
 *
 * @throws Problem `encrypted_entry`, `symlink_entry`, `excessive_compression` or `invalid_pack_file`.
 */
export function checkEntry(name: string, entry: Entry): void {
  const shown = JSON.stringify(name);
  const isEncrypted =
    (entry.generalPurposeBitFlag & ENCRYPTION_FLAGS) !== 0 ||
    entry.compressionMethod === AES ||
    entry.extraFields.some(({ id }) => ENCRYPTION_FIELDS.has(id));
  if (isEncrypted) refuse('encrypted_entry', `${shown} is encrypted. Send unencrypted files.`);
  checkType(shown, name.endsWith('/'), entry);
  const { compressionMethod, compressedSize, uncompressedSize } = entry;
  if (compressionMethod !== STORED && compressionMethod !== DEFLATED) {
    refuse('invalid_pack_file', `${shown} is neither stored nor deflated.`);
  }
  if (!Number.isSafeInteger(compressedSize) || !Number.isSafeInteger(uncompressedSize)) {
    refuse('excessive_compression', `${shown} declares an impossible size.`);
  }
  if (uncompressedSize > compressedSize * MAX_DEFLATE_RATIO + SMALL_ENTRY) {
    refuse('excessive_compression', `${shown} declares more bytes than its compressed data can hold.`);
  }
  if (compressionMethod === STORED && compressedSize !== uncompressedSize) {
    refuse('invalid_pack_file', `${shown} is not compressed, but declares two different sizes.`);
  }
  if (name.endsWith('/') && uncompressedSize !== 0)
    refuse('invalid_pack_file', `${shown} is a folder with bytes.`);
}

function checkType(shown: string, isFolder: boolean, { externalFileAttributes, versionMadeBy }: Entry): void {
  const type = externalFileAttributes >>> 28;
  const isReparsePoint =
    (externalFileAttributes & REPARSE_POINT) !== 0 && MAKERS_WITH_WINDOWS_ATTRIBUTES.has(versionMadeBy >>> 8);
  if (type === TYPE_SYMLINK || isReparsePoint) {
    refuse('symlink_entry', `${shown} is a symbolic link. Send the file itself.`);
  }
  if (type !== TYPE_NONE && type !== (isFolder ? TYPE_FOLDER : TYPE_FILE)) {
    refuse('invalid_pack_file', `${shown} is neither a plain file nor a folder.`);
  }
}
