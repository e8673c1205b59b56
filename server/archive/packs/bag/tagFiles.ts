import { compareByUtf8 } from '../../../../shared/archive/filePath.ts';
import { Problem } from '../../../../shared/problems.ts';

export {
  ARCHIVE_BAG,
  CASE_FILE,
  CRATE_FILE,
  DECLARATION,
  DECLARATION_FILE,
  FETCH_FILE,
  INFO_FILE,
  MANIFEST_FILE,
  PAYLOAD_FOLDER,
  RECORD_FILE,
  SEAL_FILE,
  TAG_MANIFEST_FILE,
} from '../../../../shared/archive/bagFiles.ts';

/** A line of a manifest. Two spaces separate digest and path, so that `sha256sum -c` can read it. */
export function manifestLine(digest: string, path: string): string {
  return `${digest}  ${path}\n`;
}

/** The text of the manifest of the other tag files, whose digests are given by name. */
export function tagManifestText(digests: readonly (readonly [name: string, sha256: string])[]): string {
  return digests
    .toSorted(([left], [right]) => compareByUtf8(left, right))
    .map(([name, sha256]) => manifestLine(sha256, name))
    .join('');
}

/** The text of `bag-info.txt` in the bag of a pack or a set. */
export function packInfoText(pack: {
  id: string;
  title: string;
  digest: string;
  bytes: number;
  files: number;
}): string {
  return infoText([
    ['External-Identifier', pack.id],
    ['External-Description', onOneLine(pack.title)],
    ['Record-Fingerprint', pack.digest],
    ['Payload-Oxum', `${pack.bytes}.${pack.files}`],
  ]);
}

/** The text of `bag-info.txt`. Labels without a value are left out. */
export function infoText(lines: readonly (readonly [label: string, value: string])[]): string {
  return lines
    .filter(([, value]) => value !== '')
    .map(([label, value]) => `${label}: ${value}\n`)
    .join('');
}

/** Values of `bag-info.txt` must be one line, for all characters that readers may treat as a line break. */
export function onOneLine(text: string): string {
  return text.replace(/[\s\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ').trim();
}

/** A readable file of a bag, in a folder or in a ZIP. */
export interface BagFile {
  bytes: number;
  read(): AsyncIterable<Uint8Array>;
}

/** Much longer than any valid path. */
const MAX_LINE_LENGTH = 1_048_576;
const BYTE_ORDER_MARK = '\ufeff';

/**
 * Returns the lines of a tag file in batches, as it is read. Lines end with LF, CR or CRLF; the last line end is optional.
 * BagIt does not allow a byte order mark in UTF-8.
 *
 * @param allowsMark whether a byte order mark in UTF-8 is skipped
 * @throws Problem `invalid_pack_file` if the file is larger than `maxBytes`; TagEncodingError if it is not valid in its encoding.
 */
export async function* tagFileLines(
  name: string,
  file: BagFile,
  maxBytes: number,
  encoding = 'UTF-8',
  allowsMark = false,
): AsyncGenerator<string[]> {
  requireAtMost(name, file, maxBytes);
  const decoder = tagDecoder(encoding);
  const decode = (chunk?: Uint8Array): string => {
    try {
      return decoder?.(chunk) ?? '';
    } catch (error) {
      throw notText(name, encoding, error);
    }
  };
  let isFirst = true;
  /** The text after the last line end. */
  let rest = '';
  for await (const chunk of file.read()) {
    let text = decode(chunk);
    if (isFirst && text.startsWith(BYTE_ORDER_MARK)) {
      if (!allowsMark) throw notText(name, encoding);
      text = text.slice(BYTE_ORDER_MARK.length);
    }
    isFirst &&= text === '';
    rest += text;
    // A CR at the end may be the first half of CRLF.
    const whole = rest.endsWith('\r') ? rest.slice(0, -1) : rest;
    const end = Math.max(whole.lastIndexOf('\n'), whole.lastIndexOf('\r')) + 1;
    if (rest.length - end > MAX_LINE_LENGTH) throw lineTooLong(name);
    if (end === 0) continue;
    yield linesOf(rest.slice(0, end));
    rest = rest.slice(end);
  }
  rest += decode();
  if (rest !== '') yield linesOf(rest);
}

function linesOf(text: string): string[] {
  const lines = text.split(/\r\n|\n|\r/);
  if (lines.at(-1) === '') lines.pop();
  return lines;
}

/** @throws Problem `invalid_pack_file` if the file is larger. */
export function requireAtMost(name: string, { bytes }: BagFile, maxBytes: number): void {
  if (bytes <= maxBytes) return;
  throw new Problem('invalid_pack_file', `${name} can have at most ${maxBytes} bytes.`);
}

/** A tag file is not in its encoding. What it means can often be read all the same. */
export class TagEncodingError extends Problem {}

function notText(name: string, encoding: string, cause?: unknown): TagEncodingError {
  return new TagEncodingError('invalid_pack_file', `${name} must be ${encoding} without a byte order mark.`, {
    cause,
  });
}

function lineTooLong(name: string): Problem {
  return new Problem('invalid_pack_file', `${name} has a line that is longer than any valid path.`);
}

/** Decodes a tag file chunk by chunk. Without a chunk it returns the rest. @throws TypeError for invalid bytes */
type Decode = (chunk?: Uint8Array) => string;

/** The supported values of Tag-File-Character-Encoding, in upper case. */
const DECODERS: Readonly<Record<string, () => Decode>> = {
  'UTF-8': () => unicodeDecoder('utf-8'),
  'UTF-16': utf16Decoder,
  'UTF-16BE': () => unicodeDecoder('utf-16be'),
  'UTF-16LE': () => unicodeDecoder('utf-16le'),
  'ISO-8859-1': () => decodeLatin1,
  'US-ASCII': () => decodeLatin1,
  ASCII: () => decodeLatin1,
};

/** Returns a decoder for an encoding that `bagit.txt` declares, or undefined if the encoding is not supported. */
function tagDecoder(encoding: string): Decode | undefined {
  const name = encoding.toUpperCase();
  return Object.hasOwn(DECODERS, name) ? DECODERS[name]?.() : undefined;
}

/** Keeps a byte order mark, because BagIt does not allow one in UTF-8. */
function unicodeDecoder(encoding: 'utf-8' | 'utf-16be' | 'utf-16le'): Decode {
  const decoder = new TextDecoder(encoding, { fatal: true, ignoreBOM: true });
  return (chunk) => decoder.decode(chunk, { stream: chunk !== undefined });
}

/** `TextDecoder` is not used here: its `iso-8859-1` is Windows-1252. */
function decodeLatin1(chunk?: Uint8Array): string {
  return Buffer.from(chunk ?? []).toString('latin1');
}

/**
 * Decodes UTF-16 with or without a byte order mark. Without a mark, the order follows from the first character: each tag
 * file begins with an ASCII character, one of whose two bytes is zero.
 */
function utf16Decoder(): Decode {
  let decode: Decode | undefined;
  let start = Buffer.alloc(0);
  return (chunk) => {
    if (decode) return decode(chunk);
    start = Buffer.concat([start, chunk ?? Buffer.alloc(0)]);
    if (start.length < 2) {
      if (chunk !== undefined || start.length === 0) return '';
      throw new TypeError('Half a character');
    }
    const isMarked = start.readUInt16BE() === 0xfeff || start.readUInt16LE() === 0xfeff;
    const isLittleEndian = isMarked ? start[0] === 0xff : start[1] === 0;
    decode = unicodeDecoder(isLittleEndian ? 'utf-16le' : 'utf-16be');
    return decode(isMarked ? start.subarray(2) : start);
  };
}

/** What `bagit.txt` says about a bag. */
export interface Declaration {
  /** Such as `1.0`. */
  version: string;
  /** The encoding of the other tag files. `bagit.txt` itself is UTF-8. */
  encoding: string;
}

/** Which bags are accepted: bags of packs only, or bags of other software too. */
export type BagRules = 'pack' | 'any';

/** BagIt 1.0 is RFC 8493. The earlier versions are its drafts, which differ in what manifests must list. */
const VERSIONS: Readonly<Record<BagRules, ReadonlySet<string>>> = {
  pack: new Set(['0.97', '1.0']),
  any: new Set(['0.93', '0.94', '0.95', '0.96', '0.97', '1.0']),
};

/** @throws Problem `invalid_pack_file` */
export function parseDeclaration(lines: readonly string[], rules: BagRules): Declaration {
  const version = /^BagIt-Version: (\d+\.\d+)[ \t]*$/.exec(lines[0] ?? '')?.[1] ?? '';
  const encoding = /^Tag-File-Character-Encoding: (\S+)[ \t]*$/i.exec(lines[1] ?? '')?.[1] ?? '';
  const isSupported = rules === 'any' ? tagDecoder(encoding) !== undefined : /^utf-8$/i.test(encoding);
  if (lines.length === 2 && VERSIONS[rules].has(version) && isSupported) return { version, encoding };
  throw new Problem(
    'invalid_pack_file',
    rules === 'pack'
      ? 'bagit.txt must contain the lines BagIt-Version: 1.0 (or 0.97) and Tag-File-Character-Encoding: UTF-8.'
      : 'bagit.txt must contain the lines BagIt-Version (0.93 to 1.0) and Tag-File-Character-Encoding (UTF-8, UTF-16, ISO-8859-1 or US-ASCII).',
  );
}

/**
 * Checks `fetch.txt`, which lists files to be downloaded into the bag. Nothing is downloaded.
 *
 * @returns what is wrong with the first invalid line, or undefined
 */
export async function fetchFault(lines: AsyncIterable<readonly string[]>): Promise<string | undefined> {
  let number = 0;
  for await (const some of lines) {
    for (const line of some) {
      number += 1;
      if (line.trim() === '') continue;
      const path = /^\S+[ \t]+(?:\d+|-)[ \t]+(.+)$/su.exec(line)?.[1];
      if (path === undefined) return `line ${number} is not a URL, a length and a path`;
      if (leavesBag(path)) return `the path on line ${number} leaves the bag`;
    }
  }
  return undefined;
}

/**
 * Returns whether a path could lead out of the bag on any system (RFC 8493, section 5.2): it is absolute, has a drive
 * letter or a backslash, begins with a home folder or an environment variable, or has a segment `..`.
 */
export function leavesBag(path: string): boolean {
  return /^[/~%]|^[A-Za-z]:|\\|(?:^|\/)\.\.(?:\/|$)/.test(path);
}
