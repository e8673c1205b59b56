import { packRecordSchema } from '../../../../shared/archive/pack.ts';
import { MAX_RECORD_BYTES } from '../../../../shared/limits.ts';
import { parseStrictJson } from '../../../../shared/values/canonicalJson.ts';
import { parseChecksums } from '../../../../shared/values/checksums.ts';
import { canonicalSha256, hashStream } from '../../hashing/sha256.ts';

/** A file in a pack file, as it was found. */
interface PackedFileResult {
  /** The path in the ZIP file. */
  path: string;
  /** Null if the pack file does not contain it. */
  bytes: number | null;
  sha256: string | null;
  expected: string;
  /** What the digest was compared with. */
  list: string;
  /** Why it is not intact, where the digest alone does not say it. */
  fault: string | null;
}

const MANIFEST = 'manifest-sha256.txt';
const TAG_MANIFEST = 'tagmanifest-sha256.txt';
const RECORD = 'pack.json';
/** No manifest has to list these. */
const OTHER_MANIFEST = /^tagmanifest-\w+\.txt$/;
const PACK_ID = /^pk_[0-9a-f]{20}$/;

/**
 * Verifies the files in a pack file or bag: against its manifests and, if it has a record, against the record, whose
 * fingerprint gives the pack its name. This finds files that were changed together with the manifests, and those that
 * were added.
 *
 * @returns undefined if the file is not a ZIP file with a SHA-256 manifest.
 */
export async function verifyPackFile(file: File): Promise<PackedFileResult[] | undefined> {
  const entries = await zipEntries(file).catch(() => undefined);
  const manifest = entries?.find(({ path }) => /(^|\/)manifest-sha256\.txt$/.test(path));
  if (!entries || !manifest) return undefined;
  const folder = manifest.path.slice(0, -MANIFEST.length);
  const byPath = new Map(entries.map((entry) => [entry.path, entry]));
  const expected = new Map<string, { sha256: string; list: string }>();
  for (const list of [MANIFEST, TAG_MANIFEST]) {
    const entry = byPath.get(folder + list);
    const lines = entry ? parseChecksums(await textOf(entry)).entries : [];
    for (const { name, sha256 } of lines) expected.set(folder + name, { sha256, list });
  }
  const results: PackedFileResult[] = [];
  for (const [path, { sha256, list }] of expected)
    results.push(await resultOf(byPath.get(path), { path, expected: sha256, list }));
  const record = byPath.get(folder + RECORD);
  if (record) await compareWithRecord(results, record, folder);
  await addUnlisted(results, byPath, folder);
  // Programs differ in which of two files of one name they extract.
  const repeated = new Set(
    entries.flatMap((entry) => (byPath.get(entry.path) === entry ? [] : [entry.path])),
  );
  for (const result of results)
    if (repeated.has(result.path)) result.fault ??= 'The pack file contains two files of this name.';
  return results;
}

/** Adds the files that no manifest lists. Without a tag manifest, none has to list the files beside the data. */
async function addUnlisted(
  results: PackedFileResult[],
  byPath: ReadonlyMap<string, ZipEntry>,
  folder: string,
): Promise<void> {
  const listed = new Set(results.map(({ path }) => path));
  const hasTagManifest = byPath.has(folder + TAG_MANIFEST);
  for (const [path, entry] of byPath) {
    if (listed.has(path)) continue;
    const name = path.startsWith(folder) ? path.slice(folder.length) : undefined;
    const isTag = name !== undefined && !name.startsWith('data/');
    if (isTag && (!hasTagManifest || OTHER_MANIFEST.test(name))) continue;
    const found = await resultOf(entry, { path, expected: '', list: MANIFEST });
    const fault = found.fault ?? 'No manifest lists this file.';
    results.push({ ...found, expected: found.sha256 ?? '', fault });
  }
}

async function resultOf(
  entry: ZipEntry | undefined,
  about: Pick<PackedFileResult, 'path' | 'expected' | 'list'>,
): Promise<PackedFileResult> {
  if (!entry) {
    const fault = `${about.list} lists this file, but the pack file does not contain it.`;
    return { ...about, bytes: null, sha256: null, fault };
  }
  try {
    const { sha256 } = await hashStream(entry.open(), (bytes) => {
      if (bytes > entry.bytes) throw new Error('The file is longer than the ZIP file states.');
    });
    return { ...about, bytes: entry.bytes, sha256, fault: null };
  } catch {
    const fault = 'This file in the pack file is damaged.';
    return { ...about, bytes: entry.bytes, sha256: null, fault };
  }
}

/** Compares the record's fingerprint with the name of the folder, and the files with the record. */
async function compareWithRecord(
  results: PackedFileResult[],
  entry: ZipEntry,
  folder: string,
): Promise<void> {
  const own = await resultOfRecord(results, entry);
  const record = await readRecord(entry);
  if (!record) {
    own.fault ??= 'The record is not valid, so no file can be compared with it.';
    return;
  }
  const id = `pk_${canonicalSha256(record).slice(0, 20)}`;
  const name = folder.replace(/\/$/, '');
  if (PACK_ID.test(name) && name !== id) own.fault ??= `Its fingerprint gives ${id}, not ${name}.`;
  else own.list = `its fingerprint, ${id}`;
  const listed = new Map(record.files.map(({ path, sha256 }) => [`${folder}data/${path}`, sha256]));
  for (const result of results) {
    const sha256 = listed.get(result.path);
    listed.delete(result.path);
    if (sha256 !== undefined) {
      if (result.sha256 === result.expected) Object.assign(result, { expected: sha256, list: RECORD });
    } else if (result.path.startsWith(`${folder}data/`))
      result.fault ??= 'The record does not list this file.';
  }
  for (const [path, sha256] of listed) {
    const fault = 'The record lists this file, but the manifest does not.';
    results.push({ path, bytes: null, sha256: null, expected: sha256, list: RECORD, fault });
  }
}

/** Returns the result of the record; a pack file without tag manifest gets one. */
async function resultOfRecord(results: PackedFileResult[], entry: ZipEntry): Promise<PackedFileResult> {
  const known = results.find(({ path }) => path === entry.path);
  if (known) return known;
  const { sha256 } = await resultOf(entry, { path: entry.path, expected: '', list: RECORD });
  const own = {
    path: entry.path,
    bytes: entry.bytes,
    sha256,
    expected: sha256 ?? '',
    list: RECORD,
    fault: null,
  };
  results.push(own);
  return own;
}

async function readRecord(entry: ZipEntry) {
  if (entry.bytes > MAX_RECORD_BYTES) return undefined;
  try {
    return packRecordSchema.safeParse(parseStrictJson(await textOf(entry))).data;
  } catch {
    return undefined;
  }
}

/** @throws Error if the file is damaged or longer than the ZIP file says. */
async function textOf(entry: ZipEntry): Promise<string> {
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  let bytes = 0;
  const reader = entry.open().getReader();
  for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
    bytes += piece.value.length;
    if (bytes > entry.bytes) throw new Error('The file is longer than the ZIP file states.');
    pieces.push(new Uint8Array(piece.value));
  }
  return new Blob(pieces).text();
}

/** A file in a ZIP file. */
interface ZipEntry {
  path: string;
  bytes: number;
  open(): ReadableStream<Uint8Array>;
}

/** A pack file is at most 50 MiB; larger ZIP files are hashed as what they are. */
export const MAX_PACK_FILE_BYTES = 60_000_000;
const END_BYTES = 65_557;
const MAX_ENTRIES = 20_000;

/**
 * Returns the files in a ZIP file by its central directory, or undefined if it is not one that can be read (ZIP64, an
 * encrypted or otherwise compressed entry).
 */
export async function zipEntries(file: File): Promise<ZipEntry[] | undefined> {
  const tailStart = Math.max(0, file.size - END_BYTES);
  const tail = new DataView(await file.slice(tailStart).arrayBuffer());
  let end = tail.byteLength - 22;
  while (end >= 0 && tail.getUint32(end, true) !== 0x06054b50) end -= 1;
  if (end < 0) return undefined;
  const count = tail.getUint16(end + 10, true);
  const size = tail.getUint32(end + 12, true);
  const start = tail.getUint32(end + 16, true);
  if (count > MAX_ENTRIES || start + size > file.size) return undefined;
  const directory = new DataView(await file.slice(start, start + size).arrayBuffer());
  const entries: ZipEntry[] = [];
  for (let at = 0, index = 0; index < count; index += 1) {
    if (at + 46 > directory.byteLength || directory.getUint32(at, true) !== 0x02014b50) return undefined;
    const flags = directory.getUint16(at + 8, true);
    const method = directory.getUint16(at + 10, true);
    const packed = directory.getUint32(at + 20, true);
    const bytes = directory.getUint32(at + 24, true);
    const nameLength = directory.getUint16(at + 28, true);
    const next =
      at + 46 + nameLength + directory.getUint16(at + 30, true) + directory.getUint16(at + 32, true);
    const header = directory.getUint32(at + 42, true);
    if (next > directory.byteLength || flags & 1 || (method !== 0 && method !== 8)) return undefined;
    const path = new TextDecoder().decode(new Uint8Array(directory.buffer, at + 46, nameLength));
    if (!path.endsWith('/')) entries.push(await entryAt(file, { path, bytes, packed, header, method }));
    at = next;
  }
  return entries;
}

async function entryAt(
  file: File,
  {
    path,
    bytes,
    packed,
    header,
    method,
  }: { path: string; bytes: number; packed: number; header: number; method: number },
): Promise<ZipEntry> {
  const local = new DataView(await file.slice(header, header + 30).arrayBuffer());
  const data = header + 30 + local.getUint16(26, true) + local.getUint16(28, true);
  const slice = file.slice(data, data + packed);
  return {
    path,
    bytes,
    open: () =>
      method === 0 ? slice.stream() : slice.stream().pipeThrough(new DecompressionStream('deflate-raw')),
  };
}
