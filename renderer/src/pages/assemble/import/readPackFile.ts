import { BlobReader, configure, type FileEntry, TextWriter, ZipReader } from '@zip.js/zip.js/index-native.js';
import { type PackRecord, packRecordSchema } from '../../../../../shared/archive/pack.ts';
import { MAX_PACK_BYTES, MAX_PACK_FILES, MAX_RECORD_BYTES } from '../../../../../shared/limits.ts';
import { parseStrictJson } from '../../../../../shared/values/canonicalJson.ts';
import { canonicalSha256, hashStream } from '../../../hashing/sha256.ts';

// The content security policy allows no workers from blobs.
configure({ useWebWorkers: false });

/** A pack file that was opened, but whose files are not checked yet. */
export interface OpenPackFile {
  file: File;
  record: PackRecord;
  /** The SHA-256 of the record. */
  fingerprint: string;
  id: string;
  /** The entries by the path in the record. */
  payload: ReadonlyMap<string, FileEntry>;
}

/** Whether every file in a pack file is the one that its record lists. */
export type PackFileCheck = { ok: true } | { ok: false; faults: string[] };

/** The name of the record in a pack file: at the top, or in one folder. */
const RECORD = /^([^/]+\/)?pack\.json$/;
/** Files, tag files and folders. */
const MAX_ENTRIES = 3 * MAX_PACK_FILES;
const MAX_FAULTS = 5;

/** Whether a file can be a pack file by its name and size. Only its content decides. */
export function mayBePackFile({ name, size }: Pick<File, 'name' | 'size'>): boolean {
  return /\.zip$/i.test(name) && size <= MAX_PACK_BYTES;
}

/** Opens a pack file. Returns undefined for any other file: another ZIP, or a ZIP with an invalid record. */
export async function openPackFile(file: File): Promise<OpenPackFile | undefined> {
  try {
    const entries = await readEntries(file);
    const found = entries.find(({ filename }) => RECORD.test(filename));
    if (!found || found.uncompressedSize > MAX_RECORD_BYTES) return undefined;
    const text = await found.getData(new TextWriter(), { checkSignature: true });
    const { success, data: record } = packRecordSchema.safeParse(parseStrictJson(text));
    if (!success) return undefined;
    const data = `${found.filename.slice(0, -'pack.json'.length)}data/`;
    const payload = new Map(
      entries
        .filter(({ filename }) => filename.startsWith(data))
        .map((entry) => [entry.filename.slice(data.length), entry]),
    );
    const fingerprint = canonicalSha256(record);
    return { file, record, fingerprint, id: `pk_${fingerprint.slice(0, 20)}`, payload };
  } catch {
    // Not a ZIP, or a damaged one: then it is a file like any other.
    return undefined;
  }
}

async function readEntries(file: File): Promise<FileEntry[]> {
  const found: FileEntry[] = [];
  const reader = new ZipReader(new BlobReader(file));
  for await (const entry of reader.getEntriesGenerator()) {
    if (found.length >= MAX_ENTRIES) throw new Error('The ZIP has too many entries.');
    if (!entry.directory) found.push(entry);
  }
  return found;
}

/** Hashes every file and compares it with the record. A damaged or missing file is a fault. */
export async function checkPackFile(
  { record, payload }: OpenPackFile,
  onProgress: (done: number) => void,
  signal?: AbortSignal,
): Promise<PackFileCheck> {
  const faults: string[] = [];
  let done = 0;
  for (const { path, sha256, bytes } of record.files) {
    const entry = payload.get(path);
    // A declared size that differs from the record's is a fault, so nothing larger is ever unpacked.
    const isIntact = entry?.uncompressedSize === bytes && (await hashEntry(entry, signal)) === sha256;
    if (!isIntact) faults.push(path);
    done += bytes;
    onProgress(done);
  }
  const listed = new Set(record.files.map(({ path }) => path));
  for (const path of payload.keys()) if (!listed.has(path)) faults.push(path);
  return faults.length === 0 ? { ok: true } : { ok: false, faults: faults.slice(0, MAX_FAULTS) };
}

/** Returns the digest of an entry; undefined if it cannot be read. */
async function hashEntry(entry: FileEntry, signal?: AbortSignal): Promise<string | undefined> {
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  try {
    const [, hashed] = await Promise.all([
      entry.getData(writable, { checkSignature: true, signal }),
      hashStream(readable, undefined, signal),
    ]);
    return hashed.sha256;
  } catch {
    signal?.throwIfAborted();
    return undefined;
  }
}
