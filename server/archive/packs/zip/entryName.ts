import { isUtf8 } from 'node:buffer';
import { crc32 } from 'node:zlib';
import { type ExtraField, parseExtraFields } from 'yauzl';
import { refuse } from './readBytesAt.ts';

/** The extra field of Info-ZIP that gives a name in UTF-8 beside one in another encoding. */
const UNICODE_PATH = 0x7075;
const UNICODE_PATH_HEADER = 5;
/** A path of a pack has at most 1,024 bytes, and a folder that it lies in 255. */
const MAX_NAME_BYTES = 1_400;

/**
 * The name of an entry. Names are read as UTF-8 whether or not the entry is marked so: Info-ZIP on Linux writes UTF-8
 * and marks nothing. Whatever else they are read as, they must be in the record, which is UTF-8.
 *
 * @throws Problem `invalid_name_encoding` for bytes that are not UTF-8 and for a second name that is another;
 * `unsafe_path` for a name that leads out of the folder it is extracted to, or that systems read differently.
 */
export function entryName(raw: Buffer, extraFields: readonly ExtraField[]): string {
  if (raw.length > MAX_NAME_BYTES) refuse('unsafe_path', `A name has more than ${MAX_NAME_BYTES} bytes.`);
  const name = decodeUtf8(raw);
  for (const { id, data } of extraFields) {
    if (id !== UNICODE_PATH) continue;
    const isSame =
      data.length > UNICODE_PATH_HEADER &&
      data.readUInt32LE(1) === crc32(raw) &&
      data.subarray(UNICODE_PATH_HEADER).equals(raw);
    if (!isSame)
      refuse('invalid_name_encoding', `${JSON.stringify(name)} has a second name in its ZIP entry.`);
  }
  const fault = pathFault(name);
  if (fault) refuse('unsafe_path', `${JSON.stringify(name)}: ${fault}`, { path: name });
  return name;
}

/** @throws Problem `invalid_pack_file` where the fields run beyond their length. */
export function extraFieldsOf(raw: Buffer): ExtraField[] {
  try {
    return parseExtraFields(raw);
  } catch {
    return refuse('invalid_pack_file', 'An extra field of a ZIP entry runs beyond its end.');
  }
}

function decodeUtf8(raw: Buffer): string {
  if (isUtf8(raw)) return raw.toString();
  const shown = JSON.stringify(raw.toString('latin1'));
  return refuse('invalid_name_encoding', `The name ${shown} is not UTF-8. Make the ZIP with UTF-8 names.`);
}

function pathFault(name: string): string | undefined {
  if (name === '') return 'A name is empty.';
  if (name.includes('\0')) return 'A name may hold no NUL.';
  if (name.includes('\\')) return 'A path is written with / and no backslash.';
  if (name.startsWith('/') || /^[A-Za-z]:/.test(name)) return 'A path must not be absolute.';
  const segments = name.replace(/\/$/, '').split('/');
  if (segments.some((segment) => segment === '..' || segment === '.'))
    return 'A path has no . or .. segment.';
  if (segments.includes('')) return 'A path has no empty segment.';
  return undefined;
}
