import { isUtf8 } from 'node:buffer';
import { crc32 } from 'node:zlib';
import { type ExtraField, parseExtraFields } from 'yauzl';
import { refuse } from './readBytesAt.ts';

/** The extra field of Info-ZIP that repeats the name in UTF-8. */
const UNICODE_PATH = 0x7075;
const UNICODE_PATH_HEADER = 5;
/** A path in a pack has at most 1,024 bytes, and the folder of the pack 255. */
const MAX_NAME_BYTES = 1_400;

/**
 * Returns the name of an entry. Names are decoded as UTF-8 even without the UTF-8 flag, because Info-ZIP on Linux does
 * not set it. A wrongly decoded name would not match the record.
 *
 * @throws Problem `invalid_name_encoding` if the name is not UTF-8 or there is a different second name; `unsafe_path` if
 * the name leads out of the target folder or is not portable.
 */
export function entryName(raw: Buffer, extraFields: readonly ExtraField[]): string {
  if (raw.length > MAX_NAME_BYTES)
    refuse('unsafe_path', `The name of an entry has more than ${MAX_NAME_BYTES} bytes.`);
  const name = decodeUtf8(raw);
  for (const { id, data } of extraFields) {
    if (id !== UNICODE_PATH) continue;
    const isSame =
      data.length > UNICODE_PATH_HEADER &&
      data.readUInt32LE(1) === crc32(raw) &&
      data.subarray(UNICODE_PATH_HEADER).equals(raw);
    if (!isSame)
      refuse(
        'invalid_name_encoding',
        `${JSON.stringify(name)} has a different second name in its ZIP entry.`,
      );
  }
  const fault = pathFault(name);
  if (fault) refuse('unsafe_path', `${JSON.stringify(name)}: ${fault}`, { path: name });
  return name;
}

/** @throws Problem `invalid_pack_file` if a field exceeds the available bytes. */
export function extraFieldsOf(raw: Buffer): ExtraField[] {
  try {
    return parseExtraFields(raw);
  } catch {
    return refuse('invalid_pack_file', 'An extra field of a ZIP entry is too long.');
  }
}

function decodeUtf8(raw: Buffer): string {
  if (isUtf8(raw)) return raw.toString();
  const shown = JSON.stringify(raw.toString('latin1'));
  return refuse('invalid_name_encoding', `The name ${shown} is not UTF-8. Create the ZIP with UTF-8 names.`);
}

function pathFault(name: string): string | undefined {
  if (name === '') return 'A name is empty.';
  if (name.includes('\0')) return 'A name must not contain NUL.';
  if (name.includes('\\')) return 'A path must use / instead of a backslash.';
  if (name.startsWith('/') || /^[A-Za-z]:/.test(name)) return 'A path must not be absolute.';
  const segments = name.replace(/\/$/, '').split('/');
  if (segments.some((segment) => segment === '..' || segment === '.'))
    return 'A path must not contain . or .. segments.';
  if (segments.includes('')) return 'A path must not contain empty segments.';
  return undefined;
}
