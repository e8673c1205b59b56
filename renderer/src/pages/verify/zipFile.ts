import { isSameBytes } from '../../../../shared/proof/crypto/bytes.ts';
import {
  ENCRYPTION_FLAGS,
  HARMLESS_FIELDS,
  isReadAsUtf8,
  UNICODE_PATH,
  UNICODE_PATH_HEADER,
  UTF8_FLAG,
  ZIP64_FIELD,
} from '../../../../shared/values/zipFormat.ts';

/*
 * Reads ZIP files as strictly as the command does: every byte belongs to one entry or to the directory, and both headers of
 * an entry agree. Otherwise two programs could see different files in one ZIP.
 */

/** A file in a ZIP file. */
export interface ZipEntry {
  path: string;
  bytes: number;
  /** Decompresses the data. The stream fails if its length or its CRC is not the one that the directory states. */
  open(): ReadableStream<Uint8Array>;
}

const END = 22;
const MAX_COMMENT = 0xffff;
const CENTRAL = 46;
const LOCAL = 30;
const MAX_ENTRIES = 20_000;
const SIZES_AFTER_DATA = 0x08;
/** Flags that must be equal in both headers. */
const COMPARED = ENCRYPTION_FLAGS | SIZES_AFTER_DATA | UTF8_FLAG;
const DESCRIPTOR_SIGNATURE = 0x08074b50;

/** What a header says of the data of an entry. */
interface Header {
  flags: number;
  method: number;
  crc: number;
  packed: number;
  bytes: number;
  name: Uint8Array;
}

interface CentralHeader extends Header {
  at: number;
}

/**
 * Returns the files in a ZIP file by its central directory, or undefined if it is not one that can be read (ZIP64, an
 * encrypted or otherwise compressed entry), or is ambiguous.
 */
export async function zipEntries(file: File): Promise<ZipEntry[] | undefined> {
  const headers = await directoryOf(file);
  if (!headers) return undefined;
  const entries = new Map<CentralHeader, ZipEntry>();
  const inOrder = headers.entries.toSorted((left, right) => left.at - right.at);
  let reached = 0;
  for (const [index, header] of inOrder.entries()) {
    const path = pathOf(header.name);
    if (header.at !== reached || path === undefined) return undefined;
    reached = inOrder[index + 1]?.at ?? headers.start;
    const data = await dataOf(file, header, reached);
    if (!data) return undefined;
    if (!path.endsWith('/')) entries.set(header, entryOf(path, header, data));
    else if (header.bytes !== 0) return undefined;
  }
  if (reached !== headers.start) return undefined;
  return headers.entries.flatMap((header) => entries.get(header) ?? []);
}

async function viewOf(file: Blob, start: number, end: number): Promise<DataView> {
  return new DataView(await file.slice(start, end).arrayBuffer());
}

/** Reads the central directory, which ends where the end record begins, which ends with the file. */
async function directoryOf(file: File): Promise<{ start: number; entries: CentralHeader[] } | undefined> {
  const tailStart = Math.max(0, file.size - END - MAX_COMMENT);
  const tail = await viewOf(file, tailStart, file.size);
  let end = tail.byteLength - END;
  while (end >= 0 && tail.getUint32(end, true) !== 0x06054b50) end -= 1;
  if (end < 0 || tail.getUint16(end + 20, true) !== tail.byteLength - end - END) return undefined;
  const [disk, directoryDisk, here, count] = [4, 6, 8, 10].map((at) => tail.getUint16(end + at, true));
  const [size = 0, start = 0] = [12, 16].map((at) => tail.getUint32(end + at, true));
  const isWhole = disk === 0 && directoryDisk === 0 && here === count && (count ?? 0) <= MAX_ENTRIES;
  if (!isWhole || start + size !== tailStart + end) return undefined;
  const view = await viewOf(file, start, start + size);
  const entries: CentralHeader[] = [];
  let at = 0;
  while (at < size) {
    const read = centralHeaderAt(view, at);
    if (!read) return undefined;
    entries.push(read.header);
    at = read.next;
  }
  return entries.length === count ? { start, entries } : undefined;
}

/** Reads a header of the directory; undefined if its entry is no plain file or folder that can be read. */
function centralHeaderAt(view: DataView, at: number): { header: CentralHeader; next: number } | undefined {
  const rest = at + CENTRAL;
  if (rest > view.byteLength || view.getUint32(at, true) !== 0x02014b50) return undefined;
  const [flags = 0, method = 0] = [8, 10].map((field) => view.getUint16(at + field, true));
  const [crc = 0, packed = 0, bytes = 0] = [16, 20, 24].map((field) => view.getUint32(at + field, true));
  const [length = 0, extra = 0, comment = 0] = [28, 30, 32].map((field) => view.getUint16(at + field, true));
  const next = rest + length + extra + comment;
  if (next > view.byteLength) return undefined;
  const isPlain = (flags & ENCRYPTION_FLAGS) === 0 && (method === 8 || (method === 0 && packed === bytes));
  // The upper four bits are the type of a Unix file: 8 is a plain file, 4 a folder, 0 says nothing.
  const type = view.getUint32(at + 38, true) >>> 28;
  const name = new Uint8Array(view.buffer, rest, length);
  const fields = fieldsAt(view, rest + length, extra, name);
  if (!isPlain || ![0, 4, 8].includes(type) || !fields) return undefined;
  const hasUnicodePath = fields.includes(UNICODE_PATH);
  if (!isReadAsUtf8(name, { flags, madeBy: view.getUint16(at + 4, true), hasUnicodePath })) return undefined;
  return { header: { flags, method, crc, packed, bytes, name, at: view.getUint32(at + 42, true) }, next };
}

/**
 * Returns the numbers of the extra fields; undefined if they do not fill their place, one may change what is extracted, one
 * says another name than the header, or one has the size a second time.
 */
function fieldsAt(view: DataView, start: number, length: number, name: Uint8Array): number[] | undefined {
  const fields: number[] = [];
  let at = start;
  while (at + 4 <= start + length) {
    const field = view.getUint16(at, true);
    const data = at + 4;
    const next = data + view.getUint16(at + 2, true);
    const isSizeAgain = field === ZIP64_FIELD && fields.includes(ZIP64_FIELD);
    if (next > start + length || !HARMLESS_FIELDS.has(field) || isSizeAgain) return undefined;
    const second = new Uint8Array(view.buffer, data, next - data).subarray(UNICODE_PATH_HEADER);
    if (field === UNICODE_PATH && !isSameBytes(second, name)) return undefined;
    fields.push(field);
    at = next;
  }
  return at === start + length ? fields : undefined;
}

/** Returns a path that is safe and the same on all systems, or undefined. */
function pathOf(name: Uint8Array): string | undefined {
  let path: string;
  try {
    path = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(name);
  } catch (error) {
    if (error instanceof TypeError) return undefined;
    throw error;
  }
  const segments = path.replace(/\/$/, '').split('/');
  const isSafe = !/^[A-Za-z]:|[\0\\]/.test(path) && !segments.some((each) => ['', '.', '..'].includes(each));
  return isSafe ? path : undefined;
}

/** Returns the packed data of an entry, which reaches to `next`; undefined if its two headers disagree. */
async function dataOf(file: File, header: CentralHeader, next: number): Promise<Blob | undefined> {
  if (header.at + LOCAL > next) return undefined;
  const fixed = await viewOf(file, header.at, header.at + LOCAL);
  const [name, extra] = [fixed.getUint16(26, true), fixed.getUint16(28, true)];
  const start = header.at + LOCAL + name + extra;
  const end = start + header.packed;
  if (end > next || fixed.getUint32(0, true) !== 0x04034b50) return undefined;
  const local = await viewOf(file, header.at, start);
  const isDeferred = (header.flags & SIZES_AFTER_DATA) !== 0;
  const sizes = [14, 18, 22].map((at) => local.getUint32(at, true));
  const stated = [header.crc, header.packed, header.bytes];
  const isSame = sizes.every((size, index) => size === stated[index]);
  const agrees =
    ((local.getUint16(6, true) ^ header.flags) & COMPARED) === 0 &&
    local.getUint16(8, true) === header.method &&
    isSameBytes(new Uint8Array(local.buffer, LOCAL, name), header.name) &&
    fieldsAt(local, LOCAL + name, extra, header.name) !== undefined &&
    (isSame || (isDeferred && sizes.every((size) => size === 0)));
  if (!agrees) return undefined;
  const descriptor = await viewOf(file, end, next);
  return isDescriptor(descriptor, isDeferred, stated) ? file.slice(start, end) : undefined;
}

/** After the data is nothing, or the sizes if the flag says so, with a signature or without. */
function isDescriptor(view: DataView, isDeferred: boolean, stated: readonly number[]): boolean {
  if (!isDeferred) return view.byteLength === 0;
  const isSigned = view.byteLength === 16 && view.getUint32(0, true) === DESCRIPTOR_SIGNATURE;
  if (!isSigned && view.byteLength !== 12) return false;
  const at = isSigned ? 4 : 0;
  return stated.every((size, index) => view.getUint32(at + 4 * index, true) === size);
}

function entryOf(path: string, { method, bytes, crc }: CentralHeader, data: Blob): ZipEntry {
  const open = () => {
    const stream =
      method === 0 ? data.stream() : data.stream().pipeThrough(new DecompressionStream('deflate-raw'));
    return stream.pipeThrough(checked(bytes, crc));
  };
  return { path, bytes, open };
}

/** Fails if other bytes pass than were stated. */
function checked(bytes: number, crc: number): TransformStream<Uint8Array, Uint8Array> {
  let passed = 0;
  let state = 0xffff_ffff;
  return new TransformStream({
    transform(chunk, controller) {
      passed += chunk.length;
      if (passed > bytes) throw new Error('The file is longer than the ZIP file states.');
      for (const byte of chunk) state = (CRC_TABLE[(state ^ byte) & 0xff] ?? 0) ^ (state >>> 8);
      controller.enqueue(chunk);
    },
    flush() {
      if (passed !== bytes || ~state >>> 0 !== crc) throw new Error('The file is damaged.');
    },
  });
}

const CRC_TABLE = Uint32Array.from({ length: 256 }, (_, index) => {
  let crc = index;
  for (let bit = 0; bit < 8; bit += 1) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
  return crc;
});
